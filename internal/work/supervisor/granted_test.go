package supervisor

import (
	"log/slog"
	"reflect"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/work"
)

// TestGrantOfARun: what a run keeps of its grant is all that a Runner gets of it.
func TestGrantOfARun(t *testing.T) {
	t.Parallel()
	s := &Supervisor{log: slog.New(slog.DiscardHandler), conf: Config{Member: "m"}}
	for _, given := range []*protocol.Grant{
		{Partition: "job/task#key", Token: 7, Attempt: 3},
		{Parents: []string{"a"}}, {ListedBy: "lister"}, {Input: []byte("x")}, {Index: 2}, {Count: 4},
	} {
		r := &run{s: s, granted: grantedBy(&Start{Grant: given, Definition: &work.Definition{EveryMS: 5}})}
		job, task, key := given.Partition.Split()
		want := &work.Grant{
			Partition: given.Partition, Job: job, Task: task, Key: key, Parents: given.Parents, ListedBy: given.ListedBy, Input: given.Input, Index: given.Index, Count: given.Count,
			Member: "m", Token: given.Token, Attempt: given.Attempt, Definition: work.Definition{EveryMS: 5}, Host: r, Log: r.log(),
		}
		if got := r.grant(); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v: got %+v", given, got)
		}
	}
}

// A stop is for the run of its token: it may come after that run has ended, when the next one lives.
func TestAStopIsForOneToken(t *testing.T) {
	t.Parallel()
	r := &run{granted: granted{id: "a", token: 2}, cancel: func(error) {}}
	s := &Supervisor{live: map[cluster.PartitionID]*run{"a": r}}
	r.s = s
	s.doStop(Stop{Partition: "a", Token: 1})
	s.doStop(Stop{Partition: "b", Token: 2})
	if r.stopped.Load() {
		t.Error("the run of token 2 was stopped by the stop of token 1")
	}
	if s.doStop(Stop{Partition: "a", Token: 2, Cause: StopShutdown}); !r.stopped.Load() {
		t.Error("it was not stopped by its own")
	}
}
