package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
)

func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	var v cluster.Value
	var commands []cluster.Command
	for i := range MaxProblems + 7 {
		commands = append(commands, cluster.SubmitJob{Job: cluster.JobID(fmt.Sprintf("j%03d", i)), Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "x", Definition: []byte("{}")}}}})
	}
	v, _ = v.Apply(cluster.Entry{Index: 1, Writer: "w", Seq: 1, Commands: commands})
	s := Of(v).Status()
	if len(s.Problems) != MaxProblems || s.More != 7 || s.Tasks.Waiting != MaxProblems+7 {
		t.Errorf("got %d problems and %d more, %d waiting", len(s.Problems), s.More, s.Tasks.Waiting)
	}
	s.addMalformed(cluster.Value{}, []journal.Record{{Kind: journal.Malformed, Partition: "x"}})
	if s.More != 8 {
		t.Errorf("a malformed file that does not fit is not counted: %d", s.More)
	}
}

func TestMalformedUntilMended(t *testing.T) {
	t.Parallel()
	var s Status
	s.addMalformed(cluster.Value{}, []journal.Record{
		{Kind: journal.Malformed, Partition: "mended", Message: "bad"},
		{Kind: journal.Malformed, Partition: "broken", Message: "bad"},
		{Kind: journal.Recovered, Partition: "mended"},
		{Kind: journal.Recovered, Partition: "again"},
		{Kind: journal.Malformed, Partition: "again", Message: "bad"},
	})
	var got []string
	for _, p := range s.Problems {
		got = append(got, p.Task)
	}
	if fmt.Sprint(got) != "[broken again]" {
		t.Errorf("got %v", got)
	}
}

// The longest gap is that of all moves, and what is too old counts nowhere.
func TestMovesSinceATime(t *testing.T) {
	t.Parallel()
	records := []journal.Record{{AtMS: 1000, Kind: journal.Moved, GapMS: new(int64(7))}, {AtMS: 2000, Kind: journal.Moved, GapMS: new(int64(3))}}
	for ms, want := range map[int64]Moves{1000: {2, 7}, 1001: {1, 3}, 2001: {}} {
		if got := movesOf(since(records, time.UnixMilli(ms))); *got != want {
			t.Errorf("since %d: got %+v, want %+v", ms, *got, want)
		}
	}
}

func TestEntryTellsWhatDidNothing(t *testing.T) {
	t.Parallel()
	e := EntryOf(cluster.Value{}, protocol.Applied{
		Entry:   cluster.Entry{Index: 7, Writer: "w", Commands: []cluster.Command{cluster.KillJob{Job: "x"}}},
		Results: []cluster.Result{{Reason: "no such job"}},
	})
	if len(e.Commands) != 1 || e.Commands[0].Accepted || e.Commands[0].Reason != "no such job" || !strings.Contains(e.Commands[0].Said, "x") {
		t.Errorf("got %+v", e)
	}
}
