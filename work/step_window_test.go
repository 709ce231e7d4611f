package work

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/cluster"
)

// model is a cluster with one partitioner in it: the command is applied by the real value, the rest is played.
type model struct {
	t      *rapid.T
	v      cluster.Value
	inputs int
	window int
	added  map[string]int
	steps  int
}

const lister cluster.PartitionID = "j#list"

func (m *model) do(commands ...cluster.Command) []cluster.Result {
	var applied cluster.Applied
	seq := m.v.Wrote("w") + 1
	m.v, applied = m.v.Apply(cluster.Entry{Index: m.v.Index() + 1, Writer: "w", Seq: seq, Commands: commands})
	return applied.Results
}

func newModel(t *rapid.T) *model {
	m := &model{t: t, inputs: rapid.IntRange(0, 60).Draw(t, "inputs"), window: rapid.IntRange(1, 20).Draw(t, "window"),
		added: map[string]int{}}
	task := cluster.TaskSpec{Type: "t", Spread: cluster.SpreadPartitioned, Partitions: []string{"list"}}
	m.do(cluster.PrepareJoin{Member: "a", Heartbeat: "p"},
		cluster.SubmitJob{Job: "j", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{task}}})
	return m
}

func (m *model) look() Window {
	p, _ := m.v.Partition(lister)
	w := Window{Mine: true, Step: p.Step, Cursor: p.Cursor}
	for it := range m.v.Window(lister) {
		if it.State == cluster.PartitionFinished {
			w.Done = append(w.Done, it)
		} else {
			w.Outstanding++
		}
	}
	return w
}

func (m *model) list(cursor []byte, limit int) Page {
	from, _ := strconv.Atoi(string(cursor))
	n := min(m.inputs-from, rapid.IntRange(1, limit).Draw(m.t, "listed"))
	var p Page
	for i := range n {
		p.Items = append(p.Items, cluster.Item{Key: fmt.Sprint(from + i)})
	}
	p.Cursor, p.End = cursor, n == 0
	if n > 0 {
		p.Cursor, p.End = []byte(strconv.Itoa(from+n)), from+n == m.inputs && rapid.Bool().Draw(m.t, "end at once")
	}
	return p
}

// write proposes a step; sometimes it is applied, and nobody learns of it.
func (m *model) write(w Window, s step) (heard bool) {
	p, _ := m.v.Partition(lister)
	res := m.do(cluster.AdvanceWindow{Partition: lister, Token: p.Token, Step: w.Step, Cursor: s.cursor, Done: s.done,
		Items: s.items})
	if !res[0].Accepted {
		m.t.Fatalf("refused: %s", res[0].Reason)
	}
	m.steps++
	for _, it := range s.items {
		m.added[it.Key]++
	}
	if w := m.look(); w.Outstanding > m.window {
		m.t.Fatalf("%d items are outstanding, the window is %d", w.Outstanding, m.window)
	}
	return rapid.IntRange(0, 4).Draw(m.t, "heard") > 0
}

func (m *model) finishSome() {
	all := slices.Collect(m.v.Window(lister))
	some := rapid.IntRange(1, len(all)).Draw(m.t, "finished")
	for _, it := range all {
		if it.Owner != "" && some > 0 {
			some--
			m.do(cluster.FinishPartition{Partition: it.ID, Token: it.Token})
		}
	}
}

// However much is listed and done at a time, and wherever a run of the partitioner is cut: every input is added once,
// never more than the window are outstanding, and in the end nothing is left. A wait that nothing would end is a fault.
func TestListingAddsEveryInputOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(rt)
		plan := listingPlan{window: m.window}
		for range 100_000 {
			w := m.look()
			if room := plan.room(w); room > 0 {
				plan.listed(w, m.list(w.Cursor, room))
			}
			s, ended := plan.next(w)
			switch {
			case ended:
				m.atTheEnd(w)
				return
			case s.due:
				if !m.write(w, s) {
					plan = listingPlan{window: m.window} // a successor, that knows the value alone
				}
			case w.Outstanding == 0:
				rt.Fatalf("it waits, and nothing runs: %+v, %+v", w, plan)
			default:
				m.finishSome()
			}
		}
		rt.Fatal("it does not end")
	})
}

func (m *model) atTheEnd(w Window) {
	if w.Outstanding > 0 || len(w.Done) > 0 || len(m.added) != m.inputs {
		m.t.Fatalf("it has ended: %+v, %d of %d inputs were added", w, len(m.added), m.inputs)
	}
	for key, n := range m.added {
		if n != 1 {
			m.t.Fatalf("%s was added %d times", key, n)
		}
	}
	// One step to add and one to take out for each batch of a quarter of the window, where the listing gives that much,
	// and a few at the end.
	if most := 2*m.inputs + 3; m.steps > most {
		m.t.Fatalf("%d steps for %d inputs", m.steps, m.inputs)
	}
}

func TestNothingIsListedForAnother(t *testing.T) {
	t.Parallel()
	plan := listingPlan{window: 4}
	if plan.room(Window{}) != 0 {
		t.Error("it lists what it does not own")
	}
	if s, ended := plan.next(Window{}); s.due || ended {
		t.Errorf("it writes %+v, ended %v", s, ended)
	}
	// What was listed behind a cursor that another has moved is thrown away.
	plan.listed(Window{Mine: true, Step: 3}, Page{Items: []cluster.Item{{Key: "k"}}})
	if s, _ := plan.next(Window{Mine: true, Step: 3}); len(s.items) != 1 {
		t.Errorf("got %+v", s)
	}
	if plan.room(Window{Mine: true, Step: 4}) == 0 || plan.pending {
		t.Error("it keeps what it has listed behind another cursor")
	}
	plan = listingPlan{window: 16}                             // it lists four at a time, not each item that has room
	for outstanding, want := range map[int]int{12: 4, 13: 0} { // order-free: each is judged alone
		if got := plan.room(Window{Mine: true, Outstanding: outstanding}); got != want {
			t.Errorf("of 16 items %d are there: it lists %d, want %d", outstanding, got, want)
		}
	}
}
