package examples_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/proof/process/processtest"
	"github.com/rota-run/rota/proof/server/kafka"
)

// readers are processes of the example changestream.
type readers struct {
	t         *testing.T
	store, to string
	up        map[string]*process.Process
}

func (r *readers) start(name string) {
	cmd := exec.Command(filepath.Join(programs, "changestream"), "-member", name, "-store", r.store, "-out", r.to,
		"-ttl", "4s", "-tasks", "16", "-pause", "20ms")
	r.up[name] = processtest.Start(r.t, name, cmd)
}

// lines are what was written so far, and who has written last.
func (r *readers) lines() (n int, last string) {
	text, err := os.ReadFile(r.to)
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	text = bytes.TrimSpace(text)
	n = bytes.Count(text, []byte(" .\n"))
	last, _, _ = strings.Cut(string(text[bytes.LastIndexByte(text, '\n')+1:]), " ")
	return n, last
}

// A stream of 64 partitions that split and merge 1,000 times, read by three processes that agree by the protocol sync
// on a broker. Four times the one that has written last is killed, and comes back: each change is written once under
// each token, none is lost, and the order of each key is kept. The example checks that.
func TestChangeStreamSurvivesKills(t *testing.T) {
	t.Parallel()
	broker, err := kafka.Start(starting(t), kafka.Options{})
	kafka.Require(t, err)
	t.Cleanup(broker.Stop)
	r := &readers{t: t, store: broker.URL("/changes"), to: filepath.Join(t.TempDir(), "changes.txt"),
		up: map[string]*process.Process{}}
	for _, name := range []string{"a", "b", "c"} {
		r.start(name)
	}
	for _, part := range []int{10, 25, 40, 55} {
		last := ""
		await := fmt.Sprintf("%d %% of the changes are written", part)
		r.await(await, func() bool {
			var n int
			n, last = r.lines()
			return n >= 20_000*part/100 && r.up[last] != nil
		})
		must.Succeed(t, r.up[last].Kill())
		r.start(last)
	}
	for name, p := range r.up {
		r.await(name+" has ended", p.Ended)
		out := p.Stdout.String()
		if p.Err() != nil || !strings.HasPrefix(out,
			"20000 changes of 1564 partitions: none lost, each once per token, in the order of each key; ") {
			t.Errorf("%s: %v\n%s", name, p.Err(), out)
		}
		t.Log(out)
	}
}

// await is for what depends on many calls to the broker, each of which may be slow.
func (r *readers) await(what string, holds func() bool) {
	r.t.Helper()
	began := time.Now()
	for !holds() {
		if time.Since(began) > 5*time.Minute {
			n, last := r.lines()
			r.t.Fatalf("waited %s in vain: %s; %d changes are written, the last one by %q", time.Since(began), what, n,
				last)
		}
		time.Sleep(50 * time.Millisecond) // waits: nothing says when a file has grown
	}
	r.t.Logf("%.1f s until %s", time.Since(began).Seconds(), what)
}
