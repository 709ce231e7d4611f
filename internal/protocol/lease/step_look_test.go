package lease

import (
	"slices"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// TestAHintDuringALook begins another one at once, as soon as the store answers again.
func TestAHintDuringALook(t *testing.T) {
	t.Parallel()
	const poll = 10
	for _, c := range []struct {
		hint bool
		err  string
		want bool // at once
	}{{true, "", true}, {false, "", false}, {true, "away", false}} {
		s := &step{State: &State{Core: coreIn(member.PhaseMember, member.Params{Member: "a", Nonce: "n", Poll: poll,
			Timing: heartbeat.Timing{TTL: 30 * poll}, Hints: member.Hints{Docs: true}}), known: &facts{}}}
		s.At = 100
		s.look.busy, s.look.hint = true, c.hint
		s.looked(Fetched{Err: c.err})
		if got := s.look.next == s.At; got != c.want || s.look.busy {
			t.Errorf("hint %t, error %q: the next look is at %d", c.hint, c.err, s.look.next)
		}
	}
}

// TestWhatALeaderHears: all that members write. The others hear of the lock, and of the leader's heartbeat.
func TestWhatALeaderHears(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*State)
		hears  []string
	}{
		"a leader": {func(s *State) { s.lead.holds = true },
			[]string{lockPrefix, nodePrefix, jobPrefix, partitionPrefix}},
		"a follower": {func(s *State) { s.look.leader.Holder = "b/n-0" }, []string{lockPrefix, nodePrefix + "b/"}},
		"no leader":  {func(*State) {}, []string{lockPrefix}},
		"a joiner":   {func(s *State) { s.Is = member.PhaseJoining }, nil},
	} {
		s := State{Core: coreIn(member.PhaseMember, member.Params{Member: "a", Nonce: "n"})}
		c.change(&s)
		if got, log := s.Watching(); !slices.Equal(got, c.hears) || log {
			t.Errorf("%s hears of %q and the log: %t, want %q", name, got, log, c.hears)
		}
	}
}

// TestTheNameIsFree where the heartbeat of the other start has gone, or is fenced. One that is damaged tells nothing.
func TestTheNameIsFree(t *testing.T) {
	t.Parallel()
	key := nodeKey("m/other-0")
	fenced := written(key, "1", nodeDoc{Text: heartbeat.Text{State: heartbeat.Fenced}})
	live := written(key, "1", nodeDoc{Text: heartbeat.Text{State: heartbeat.Live}})
	for _, c := range []struct {
		doc  store.Doc
		free bool
	}{{store.Doc{Key: key}, true}, {fenced, true}, {live, false},
		{store.Doc{Key: key, Version: "1", Value: []byte("x")}, false}} {
		s := &step{State: &State{Core: coreIn(member.PhaseNaming, member.Params{Member: "m", Nonce: "n"}),
			known: &facts{}}}
		s.otherStart(Fetched{Docs: []store.Doc{{Key: keyNodes}, c.doc}}, false)
		if s.name.clear != c.free {
			t.Errorf("%+v: the name is free: %t", c.doc, s.name.clear)
		}
	}
}

// TestANewSpec of a job that runs reaches what runs, if it is newer than what is known.
func TestANewSpec(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		index cluster.Index
		state cluster.JobState
		want  bool
	}{{8, cluster.JobRunning, true}, {7, cluster.JobRunning, false}, {8, cluster.JobKilled, false},
		{8, cluster.JobCompleted, false}} {
		s := &step{State: &State{known: &facts{}, held: []*held{{id: "x", specIndex: 7}}}}
		before := s.held
		s.newSpec(0, cluster.Job{ID: "x", State: c.state, SpecIndex: c.index,
			Spec: &cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}})
		if got := s.held[0].specIndex == 8 && s.held[0].spec != nil; got != c.want || before[0].spec != nil {
			t.Errorf("index %d of a job in state %d: it is taken: %t", c.index, c.state, got)
		}
	}
}

// TestSinceWhenItIsFree: what stays free under its token has been so since it was seen first.
func TestSinceWhenItIsFree(t *testing.T) {
	t.Parallel()
	s := &step{State: &State{}}
	for at, board := range [][]boardFree{{{Partition: "x", Token: 1}}, {{Partition: "w", Token: 1}, {Partition: "x", Token: 1}},
		{{Partition: "w", Token: 1}, {Partition: "x", Token: 2}}} {
		s.At = protocol.Instant(at + 1)
		s.seeBoard(boardDoc{Free: board})
	}
	if free := s.look.board.Free; free[0].since != 2 || free[1].since != 3 {
		t.Errorf("since %d and %d, want 2 and 3", free[0].since, free[1].since)
	}
}

// TestWhatTheBoardTells: each of its parts alone is worth writing it; the name of the write is not.
func TestWhatTheBoardTells(t *testing.T) {
	t.Parallel()
	was := boardDoc{Term: 1, Index: 2, Specs: 3, View: 4, Write: "a"}
	for what, change := range map[string]func(*boardDoc){
		"term": func(b *boardDoc) { b.Term++ }, "index": func(b *boardDoc) { b.Index++ },
		"specs": func(b *boardDoc) { b.Specs++ }, "view": func(b *boardDoc) { b.View++ },
		"free": func(b *boardDoc) { b.Free = append(b.Free, boardFree{Partition: "x"}) },
		"stop": func(b *boardDoc) { b.Stop = append(b.Stop, boardStop{Partition: "x"}) },
	} {
		b := was
		if change(&b); sameBoard(was, b) {
			t.Errorf("another %s is not told", what)
		}
	}
	b := was
	if b.Write = "b"; !sameBoard(was, b) {
		t.Error("a board is written for its name alone")
	}
}

// TestWhatACommandNeeds: a split reads the parents of its children; a submission by a partition reads that partition,
// its job and the Node List. A session that has ended is not confirmed.
func TestWhatACommandNeeds(t *testing.T) {
	t.Parallel()
	split := needs(cluster.SplitPartition{Partition: "x#p",
		Children: []cluster.Child{{Key: "l", Parents: []string{"p", "q"}}}})
	submit := needs(cluster.SubmitJob{Job: "y", By: "x#p"})
	for key, keys := range map[string][]string{partitionKey("x#q"): split, partitionKey("x#l"): split,
		keyNodes: submit, jobKey("x"): submit, partitionKey("x#p"): submit} {
		if !slices.Contains(keys, key) {
			t.Errorf("%s is not among %q", key, keys)
		}
	}
	p := newPaper(t)
	a := p.join("a/1")
	p.refuses(cluster.ConfirmMember{Member: "a", Incarnation: a, Heartbeat: nodeKey("a/2")}, "a/2", "is not confirmed")
}
