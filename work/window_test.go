package work

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/values"
)

// scripted is a host whose window is what the steps before have made of it. Its answers to steps come from the test.
type scripted struct {
	Windows
	window  Window
	answers []string // why a step is refused; "" if it is not, "late" where another run was faster
	steps   []cluster.AdvanceWindow
}

func (h *scripted) Window(*Grant) (Window, <-chan struct{}, error) {
	return h.window, make(chan struct{}), nil
}

func (h *scripted) Advance(_ context.Context, _ *Grant, w Window, c cluster.AdvanceWindow) (string, error) {
	if len(h.answers) == 0 {
		return "", errors.New("no further step is expected")
	}
	h.steps = append(h.steps, c)
	why := h.answers[0]
	h.answers = h.answers[1:]
	if why == "" || why == "late" {
		h.window.Step, h.window.Cursor = w.Step+1, c.Cursor
	}
	return why, nil
}

// A listing goes on from its cursor, also where a page names none or another run was faster; it ends with the reason
// why a step is refused.
func TestListingGoesOn(t *testing.T) {
	t.Parallel()
	pages := []Page{{Items: []cluster.Item{{Key: "a"}}, Cursor: []byte("1")}, {Items: []cluster.Item{{Key: "b"}}},
		{End: true}}
	for _, c := range []struct {
		answers []string
		seen    string // the cursors that were listed behind
		err     string
	}{
		{[]string{"", ""}, " 1 1", ""},
		{[]string{"late", ""}, " 1 1", ""},
		{[]string{"full"}, "", "step 0 was refused: full"},
	} {
		h, n := &scripted{window: Window{Mine: true}, answers: c.answers}, 0
		var seen []string
		p := Partitioner{List: func(_ context.Context, _ *Grant, cursor []byte, _ int) (Page, error) {
			seen = append(seen, string(cursor))
			n++
			return pages[min(n, len(pages))-1], nil
		}}
		err := p.Run(t.Context(), &Grant{Partition: "j#l", Host: h})
		if strings.Join(seen, " ") != c.seen || (err == nil) != (c.err == "") || err != nil &&
			!strings.Contains(err.Error(), c.err) {
			t.Errorf("%v: listed behind %q: %v", c.answers, seen, err)
		}
	}
	many := Partitioner{Window: 1, List: func(context.Context, *Grant, []byte, int) (Page, error) {
		return Page{Items: []cluster.Item{{Key: "a"}, {Key: "b"}}}, nil
	}}
	err := many.Run(t.Context(), &Grant{Partition: "j#l", Host: &scripted{window: Window{Mine: true}}})
	if err == nil || !strings.Contains(err.Error(), "gave 2 items, at most 1") {
		t.Errorf("more items than were asked for: %v", err)
	}
}

// TestASourceThatIsEmptyIsPolled: each second, where nothing else is said.
func TestASourceThatIsEmptyIsPolled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, n := time.Now(), 0
		p := Partitioner{Poll: -1, List: func(context.Context, *Grant, []byte, int) (Page, error) {
			if at := time.Since(began); at != time.Duration(n)*time.Second {
				t.Errorf("listing %d is after %v", n, at)
			}
			n++
			return Page{End: n > 3}, nil
		}}
		h := &scripted{window: Window{Mine: true}, answers: []string{""}}
		if err := p.Run(t.Context(), &Grant{Partition: "j#l", Host: h}); err != nil || n != 4 {
			t.Errorf("%d listings, %v", n, err)
		}
	})
}

// TestWhenAListingRests: the source has nothing more for now where a page has no items and the cursor stays. Else it is
// asked again at once.
func TestWhenAListingRests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		page  Page
		rests bool
	}{
		"nothing":               {Page{}, true},
		"nothing, the cursor":   {Page{Cursor: []byte("1")}, true},
		"nothing here":          {Page{Cursor: []byte("2")}, false},
		"items, the cursor":     {Page{Items: []cluster.Item{{Key: "a"}}, Cursor: []byte("1")}, false},
		"nothing, and it ended": {Page{End: true}, false},
	} {
		l := &listing{
			Partitioner: Partitioner{Window: 4, Poll: time.Hour,
				List: func(context.Context, *Grant, []byte, int) (Page, error) { return c.page, nil }},
			plan: listingPlan{window: 4}, poll: time.NewTimer(time.Hour),
		}
		if err := l.list(t.Context(), Window{Mine: true, Cursor: []byte("1")}); err != nil || l.resting != c.rests {
			t.Errorf("%s: it rests: %t, %v", name, l.resting, err)
		}
	}
}

// A step of the largest window fits into a command.
func TestBatchesFit(t *testing.T) {
	t.Parallel()
	for window, want := range map[int]int{1: 1, 7: 1, 400: 100, MaxWindow: cluster.MaxItems} {
		if l := (listingPlan{window: window}); l.batch() != want {
			t.Errorf("a window of %d has batches of %d, want %d", window, l.batch(), want)
		}
	}
}

// A window is that of the present owner, and has the items of one partitioner.
func TestWindowOfAGrant(t *testing.T) {
	t.Parallel()
	v := cluster.Value{}
	do := func(c cluster.Command) {
		t.Helper()
		v = values.After(t, v, c)
	}
	do(cluster.PrepareJoin{Member: "a", Heartbeat: "p"})
	do(cluster.SubmitJob{Job: "j",
		Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "t", Spread: cluster.SpreadPartitioned,
			Partitions: []string{"l", "m"}}}}})
	for _, by := range []string{"l", "m"} {
		do(cluster.AdvanceWindow{Partition: cluster.PartitionID("j#" + by), Token: 2,
			Items: []cluster.Item{{Key: by + "1"}, {Key: by + "2"}}})
	}
	p, _ := v.Partition("j#l1")
	do(cluster.FinishPartition{Partition: "j#l1", Token: p.Token})
	w := WindowOf(v, &Grant{Partition: "j#l", Token: 2})
	got := fmt.Sprint(w.Mine, w.Step, w.Outstanding, len(w.Done), w.Has("l1"), w.Has("l2"), w.Has("m1"), w.Has("none"))
	if want := "true 1 1 1 false true false false"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, g := range []*Grant{{Partition: "j#l", Token: 1}, {Partition: "j#x", Token: 2}} {
		if WindowOf(v, g).Mine {
			t.Errorf("the window of %s under %d is taken for one's own", g.Partition, g.Token)
		}
	}
}
