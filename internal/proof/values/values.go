// Package values makes values of a cluster as its log does, by commands.
//
// # Purpose
//
// A test of what is read out of a value begins with commands that lead there, and each of them may be refused. [After]
// ends the test there, and says why.
package values

import (
	"fmt"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
)

// Entry is the one that follows a value whose entries all are of the writer w.
func Entry(v cluster.Value, atMS int64, commands ...cluster.Command) cluster.Entry {
	at := v.Index() + 1
	return cluster.Entry{Index: at, Writer: "w", Seq: uint64(at), AtMS: atMS, Commands: commands}
}

// Apply returns the value after an entry whose commands must all be accepted.
func Apply(t must.TB, v cluster.Value, e cluster.Entry) cluster.Value {
	t.Helper()
	next, done := v.Apply(e)
	for i, r := range done.Results {
		if !r.Accepted {
			t.Fatal(fmt.Sprintf("entry %d, %v: %s", e.Index, e.Commands[i], r.Reason))
		}
	}
	return next
}

// After returns the value after further commands, an entry each, all of which must be accepted.
func After(t must.TB, v cluster.Value, commands ...cluster.Command) cluster.Value {
	t.Helper()
	for _, c := range commands {
		v = Apply(t, v, Entry(v, 1000, c))
	}
	return v
}
