package schedule

// stock hands out the items of a class that a member owns, a few at a time: a plan that takes one item from each of many members must
// not list them all.
type stock struct {
	v     View
	cell  cell
	items []string
	at    int
	all   bool // items is all there is
}

func (p *placer) stock(m, c int) *stock {
	k := cell{m, c}
	s, ok := p.taken[k]
	if !ok {
		s = &stock{v: p.v, cell: k}
		p.taken[k] = s
	}
	return s
}

// more tells whether an item is left.
func (s *stock) more() bool {
	if s.at < len(s.items) {
		return true
	}
	if s.all {
		return false
	}
	s.load(max(4, 4*len(s.items)))
	return s.at < len(s.items)
}

func (s *stock) load(limit int) {
	s.items, s.all = s.items[:0], true
	s.v.Owned(s.cell.m, s.cell.c, func(item string) bool {
		if len(s.items) == limit {
			s.all = false
			return false
		}
		s.items = append(s.items, item)
		return true
	})
}

// next takes an item.
func (s *stock) next() (string, bool) {
	if !s.more() {
		return "", false
	}
	s.at++
	return s.items[s.at-1], true
}
