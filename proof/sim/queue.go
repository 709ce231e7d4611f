package sim

// happening is something that is due at an instant of true time.
type happening struct {
	at  int64
	tie uint64 // drawn by the world: the order of what is due at the same instant is explored, not fixed
	seq uint64
	do  func()
}

// before orders by instant, then by chance. No two are equal: any heap yields them in the same order.
func (h *happening) before(o *happening) bool {
	switch {
	case h.at != o.at:
		return h.at < o.at
	case h.tie != o.tie:
		return h.tie < o.tie
	}
	return h.seq < o.seq
}

// queue holds what is due, as a heap: the first on top. It is not container/heap's, which allocates for each of them.
type queue []happening

func (q *queue) add(h happening) {
	all := append(*q, h)
	i := len(all) - 1
	for up := (i - 1) / 2; i > 0 && h.before(&all[up]); up = (i - 1) / 2 {
		all[i], i = all[up], up
	}
	all[i] = h
	*q = all
}

func (q *queue) next() happening {
	all, i := *q, 0
	top, end := all[0], len(all)-1
	h := all[end]
	all[end] = happening{}
	all = all[:end]
	for down := 1; down < end; down = 2*i + 1 {
		if right := down + 1; right < end && all[right].before(&all[down]) {
			down = right
		}
		if h.before(&all[down]) {
			break
		}
		all[i], i = all[down], down
	}
	if end > 0 {
		all[i] = h
	}
	*q = all
	return top
}
