package protocoltest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
)

// Run tells all stories in virtual time. On a real server it tells those in which the store has something to say:
// sessions begin, end in order, with their process, or in silence. What the members make of that is the protocol's, on
// each store the same.
func Run(t *testing.T, s Setup) {
	stories := []struct {
		name string
		tell func(*world)
		real bool // on real servers too
	}{
		{"one member runs all", oneMember, false},
		{"members that join take their share", join, false},
		{"two join at once", joinTwoAtOnce, false},
		{"a member leaves in order", leave, false},
		{"a member crashes", crash, true},
		{"two of four crash at once", crashTwo, true},
		{"a member restarts under its name", restart, true},
		{"all crash and start again", coldRestart, true},
		{"rolling restart of all", rollingRestart, true},
		{"the store is away from one member for longer than the TTL", partition, true},
		{"a member drains and comes back", drain, false},
		{"a job is killed and submitted again", resubmit, false},
		{"a partition is split while it moves", split, false},
		{"many members", many, false},
	}
	for _, story := range stories {
		if !s.Virtual && !story.real || story.name == "many members" && s.Many == 0 {
			continue
		}
		t.Run(story.name, func(t *testing.T) {
			t.Parallel()
			s.play(t, story.tell)
		})
	}
}

// play runs one story in a world of its own.
func (s Setup) play(t *testing.T, story func(*world)) {
	t.Helper()
	if !s.Virtual {
		story(newWorld(t, s))
		return
	}
	synctest.Test(t, func(t *testing.T) { story(newWorld(t, s)) })
}

func oneMember(w *world) {
	w.start("a")
	w.tasks("a", 5)
	w.shares(map[cluster.MemberID]int{"a": 5})
}

func join(w *world) {
	w.start("a")
	w.tasks("a", 12)
	w.shares(map[cluster.MemberID]int{"a": 12})
	w.start("b")
	w.shares(map[cluster.MemberID]int{"a": 6, "b": 6})
	w.start("c")
	w.shares(map[cluster.MemberID]int{"a": 4, "b": 4, "c": 4})
}

func joinTwoAtOnce(w *world) {
	w.start("b")
	w.tasks("b", 12)
	w.start("a", "c")
	w.shares(map[cluster.MemberID]int{"a": 4, "b": 4, "c": 4})
}

// three starts three members, with four tasks each.
func (w *world) three() {
	w.start("a", "b", "c")
	w.tasks("a", 12)
	w.shares(map[cluster.MemberID]int{"a": 4, "b": 4, "c": 4})
}

func leave(w *world) {
	w.three()
	w.peers["b"].end(w.t)
	w.shares(map[cluster.MemberID]int{"a": 6, "c": 6})
}

func crash(w *world) {
	w.three()
	w.peers["b"].die()
	w.shares(map[cluster.MemberID]int{"a": 6, "c": 6})
}

// crashTwo kills neighbours: the one that watched the second is dead too.
func crashTwo(w *world) {
	w.start("a", "b", "c", "d")
	w.tasks("a", 12)
	w.shares(map[cluster.MemberID]int{"a": 3, "b": 3, "c": 3, "d": 3})
	w.peers["b"].die()
	w.peers["c"].die()
	w.shares(map[cluster.MemberID]int{"a": 6, "d": 6})
}

func restart(w *world) {
	w.start("a", "b")
	w.tasks("a", 10)
	w.shares(map[cluster.MemberID]int{"a": 5, "b": 5})
	w.peers["b"].die()
	w.start("b")
	w.shares(map[cluster.MemberID]int{"a": 5, "b": 5})
}

func coldRestart(w *world) {
	w.three()
	for _, id := range []cluster.MemberID{"a", "b", "c"} {
		w.peers[id].die()
	}
	w.shares(map[cluster.MemberID]int{})
	w.start("c", "a", "b")
	w.shares(map[cluster.MemberID]int{"a": 4, "b": 4, "c": 4})
}

func rollingRestart(w *world) {
	w.start("a", "b", "c")
	w.tasks("a", 12)
	for _, id := range []cluster.MemberID{"a", "b", "c"} {
		w.shares(map[cluster.MemberID]int{"a": 4, "b": 4, "c": 4})
		w.peers[id].end(w.t)
		w.start(id)
	}
	w.shares(map[cluster.MemberID]int{"a": 4, "b": 4, "c": 4})
}

func partition(w *world) {
	w.three()
	w.handles["b"].Away(true)
	w.shares(map[cluster.MemberID]int{"a": 6, "c": 6})
	w.handles["b"].Away(false)
	w.shares(map[cluster.MemberID]int{"a": 4, "b": 4, "c": 4})
}

func drain(w *world) {
	w.start("a", "b")
	w.tasks("a", 10)
	w.shares(map[cluster.MemberID]int{"a": 5, "b": 5})
	w.drains("a", "b", map[cluster.MemberID]int{"a": 10})
	w.submit("a", cluster.DrainMember{Member: "b"})
	w.shares(map[cluster.MemberID]int{"a": 5, "b": 5})
}

func resubmit(w *world) {
	w.start("a", "b")
	w.tasks("a", 4)
	w.shares(map[cluster.MemberID]int{"a": 2, "b": 2})
	w.submit("a", cluster.KillJob{Job: "t00"}, cluster.KillJob{Job: "t01"})
	w.tasks("b", 4)
	w.until("4 run", func(got map[cluster.MemberID]int) bool { return got["a"]+got["b"] == 4 })
}

func split(w *world) {
	w.start("a")
	spec := cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop", Spread: cluster.SpreadPartitioned,
		Partitions: []string{"p"}}}}
	w.submit("a", cluster.SubmitJob{Job: "s", Spec: spec})
	w.shares(map[cluster.MemberID]int{"a": 1})
	w.asOwner("a", "s#p", func(p cluster.Partition) []cluster.Command {
		return []cluster.Command{
			cluster.DrainMember{Member: "a", On: true},
			cluster.SplitPartition{Partition: p.ID, Token: p.Token, Children: []cluster.Child{
				{Key: "l", Parents: []string{"p"}}, {Key: "r", Parents: []string{"p"}},
			}},
		}
	})
	w.start("b")
	w.drains("b", "a", map[cluster.MemberID]int{"b": 1})
	w.asOwner("b", "s#p", func(p cluster.Partition) []cluster.Command {
		return []cluster.Command{cluster.FinishPartition{Partition: p.ID, Token: p.Token}}
	})
	w.drains("b", "a", map[cluster.MemberID]int{"b": 2})
	w.asOwner("b", "s#l", func(p cluster.Partition) []cluster.Command {
		return []cluster.Command{cluster.SplitPartition{Partition: p.ID, Token: p.Token,
			Children: []cluster.Child{{Key: "m", Parents: []string{"l"}}}}}
	})
	w.asOwner("b", "s#l", func(p cluster.Partition) []cluster.Command {
		return []cluster.Command{cluster.FinishPartition{Partition: p.ID, Token: p.Token}}
	})
	w.drains("b", "a", map[cluster.MemberID]int{"b": 2})
	w.asOwner("b", "s#r", func(p cluster.Partition) []cluster.Command {
		return []cluster.Command{cluster.SplitPartition{Partition: p.ID, Token: p.Token,
			Children: []cluster.Child{{Key: "n", Parents: []string{"r"}}}, Done: []string{"l"}}}
	})
	w.until("s#l is gone, unless members claim", func(map[cluster.MemberID]int) bool {
		v := w.peers["b"].m.Value()
		_, there := v.Partition("s#l")
		return there == (v.Settings().Placement == cluster.PlacementClaimed)
	})
}

// refused is a member that for ten minutes wants what everybody refuses: a failure whose message is too long. A request
// that nobody can read is answered, and others go through.
func refused(w *world) {
	w.fails = strings.Repeat("x", cluster.MaxText+1)
	w.start("a")
	w.tasks("a", 2)
	unreadable := cluster.FinishPartition{Partition: "t00", Token: 1, Outcome: 99}
	for range 2 {
		began, entries := time.Now(), w.peers["a"].m.Value().Index()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		results, err := w.peers["a"].m.Propose(ctx, unreadable)
		cancel()
		if err == nil && results[0].Accepted || time.Since(began) >= patience/2 {
			w.t.Fatalf("what nobody can read: %+v, %v after %s", results, err, time.Since(began))
		}
		if r := w.submit("a", cluster.Configure{Retention: 7}); !r[0].Accepted {
			w.t.Fatalf("after it: %+v", r)
		}
		time.Sleep(10 * time.Minute) // waits: in virtual time
		if n := w.peers["a"].m.Value().Index() - entries; n > 50 {
			w.t.Fatalf("%d entries in ten minutes", n)
		}
	}
}

// many has a TTL that no machine stands still for: with a short one a busy machine loses all of them at once, again and
// again, and this is no story of that.
func many(w *world) {
	n := w.setup.Many
	w.setup.TTL = max(w.setup.TTL, 20*time.Second)
	want := make(map[cluster.MemberID]int)
	for i := range n {
		id := cluster.MemberID(fmt.Sprintf("m%03d", i))
		w.start(id)
		want[id] = 3
	}
	w.tasks("m000", 3*n)
	w.shares(want)
}
