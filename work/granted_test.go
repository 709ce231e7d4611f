package work

import (
	"log/slog"
	"reflect"
	"testing"

	"github.com/rota-run/rota/protocol"
)

// TestGrantOfARun: what a run keeps of its grant is all that a Runner gets of it.
func TestGrantOfARun(t *testing.T) {
	t.Parallel()
	s := &Supervisor{log: slog.New(slog.DiscardHandler), conf: Config{Member: "m"}}
	for _, given := range []*protocol.Grant{
		{Partition: "job/task#key", Token: 7, Attempt: 3},
		{Parents: []string{"a"}}, {ListedBy: "lister"}, {Input: []byte("x")}, {Index: 2}, {Count: 4},
	} {
		r := &run{s: s, granted: grantedBy(&Start{Grant: given, Definition: &Definition{EveryMS: 5}})}
		job, task, key := given.Partition.Split()
		want := &Grant{
			Partition: given.Partition, Job: job, Task: task, Key: key, Parents: given.Parents, ListedBy: given.ListedBy, Input: given.Input, Index: given.Index, Count: given.Count,
			Member: "m", Token: given.Token, Attempt: given.Attempt, Definition: Definition{EveryMS: 5}, Host: r, Log: r.log(),
		}
		if got := r.grant(); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v: got %+v", given, got)
		}
	}
}
