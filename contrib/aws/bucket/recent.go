package bucket

import "bytes"

// recent remembers the objects that were listed last. In a second look at a bucket those are passed over that still wait or run: the window
// would pass them over too, at the price of an entry of the log each time. Only what was written into the window is remembered: what is
// passed over otherwise would never be taken.
type recent struct {
	known map[listed]bool
	order []listed // a ring
	next  int

	pending []listed // given with a cursor, and perhaps not written
	cursor  []byte
}

func newRecent(size int) *recent {
	return &recent{known: map[listed]bool{}, order: make([]listed, size)}
}

// sift returns the objects that are new or changed.
func (r *recent) sift(objects []listed) []listed {
	var news []listed
	for _, o := range objects {
		if !r.known[o] {
			news = append(news, o)
		}
	}
	return news
}

// expect notes what was given with a cursor.
func (r *recent) expect(objects []listed, cursor []byte) { r.pending, r.cursor = objects, cursor }

// settle is told the cursor that is in the cluster: if it is the one that was given last, what was given with it is there too.
func (r *recent) settle(cursor []byte) {
	if r.pending == nil || !bytes.Equal(cursor, r.cursor) {
		r.pending = nil
		return
	}
	for _, o := range r.pending {
		delete(r.known, r.order[r.next])
		r.order[r.next], r.known[o] = o, true
		r.next = (r.next + 1) % len(r.order)
	}
	r.pending = nil
}
