package work

import (
	"bytes"
	"slices"

	"github.com/rota-run/rota/cluster"
)

// listingPlan decides when a partitioner lists and when it writes a step.
type listingPlan struct {
	window  int
	pending bool  // page was listed and has yet to be written
	at      int64 // the step whose cursor it was listed behind
	page    Page
}

// step is what to write.
type step struct {
	due    bool
	cursor []byte
	done   []string
	items  []cluster.Item
}

// batch is how many items are listed, and taken out, together: with fewer each would cost an entry of the log, with
// more the window would run dry.
func (l *listingPlan) batch() int { return max(1, min(l.window/4, cluster.MaxItems)) }

// room is how many items to list now, 0 for none.
func (l *listingPlan) room(w Window) int {
	if l.pending && l.at != w.Step {
		// It was written, or a former run's last step was: the cursor is another.
		l.pending, l.page = false, Page{}
	}
	room := l.window - w.Outstanding
	if !w.Mine || l.pending || room < l.batch() {
		return 0
	}
	return min(room, cluster.MaxItems)
}

// listed records a page. An empty page is not kept.
func (l *listingPlan) listed(w Window, p Page) {
	if len(p.Items) > 0 || p.End || !bytes.Equal(p.Cursor, w.Cursor) {
		l.pending, l.page, l.at = true, p, w.Step
	}
}

// next is the step to write, if one is due: there is something new, or enough is done. The partitioner has ended when
// it has listed the end, and all is done and taken out.
func (l *listingPlan) next(w Window) (s step, ended bool) {
	if !w.Mine {
		return step{}, false
	}
	s.cursor = w.Cursor
	for _, p := range w.Done[:min(len(w.Done), cluster.MaxItems)] {
		_, _, key := p.ID.Split()
		s.done = append(s.done, key)
	}
	slices.Sort(s.done)
	news, end := false, false
	if l.pending {
		s.items, s.cursor = l.page.Items, l.page.Cursor
		news = len(s.items) > 0 || !bytes.Equal(s.cursor, w.Cursor)
		end = l.page.End && !news && w.Outstanding == 0
	}
	s.due = news || len(s.done) >= l.batch() || end && len(s.done) > 0
	return s, end && !s.due
}
