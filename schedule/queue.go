package schedule

// queue gives, again and again, the member that should get the next item of a class: of the label value with the fewest items, where the
// class is spread over a label, the member with the least load that is not full.
type queue struct {
	p     *placer
	zones []zone // one, named "", where the class is not spread
	of    map[int]int
}

type zone struct {
	name  string
	items int
	heap  []int // members, least loaded first
}

func (p *placer) queueFor(c int) *queue {
	q := &queue{p: p, of: make(map[int]int)}
	index := make(map[string]int)
	for _, t := range p.targets(c) {
		m, name := int(t), ""
		if over := p.classes[c].SpreadOver; over != "" {
			name, _ = label(p.members[m].Labels, over)
		}
		z, ok := index[name]
		if !ok {
			z = len(q.zones)
			index[name] = z
			q.zones = append(q.zones, zone{name: name})
		}
		q.of[m] = z
		if p.classes[c].SpreadOver != "" {
			q.zones[z].items += p.have(m, c)
		}
		q.zones[z].heap = append(q.zones[z].heap, m)
	}
	for z := range q.zones {
		h := q.zones[z].heap
		for i := len(h)/2 - 1; i >= 0; i-- {
			p.down(h, i)
		}
	}
	return q
}

// have is how many items of the class the member has, as planned so far.
func (p *placer) have(m, c int) int {
	n := p.v.Count(m, c)
	for _, mv := range p.plan.Moves {
		if mv.Class != c {
			continue
		}
		if mv.From == m {
			n--
		}
		if mv.To == m {
			n++
		}
	}
	return n
}

// best is the member that should get the next item; false if all are full.
func (q *queue) best() (int, bool) {
	at := -1
	for z := range q.zones {
		q.dropFull(&q.zones[z])
		if len(q.zones[z].heap) == 0 {
			continue
		}
		if at < 0 || q.before(&q.zones[z], &q.zones[at]) {
			at = z
		}
	}
	if at < 0 {
		return 0, false
	}
	return q.zones[at].heap[0], true
}

func (q *queue) dropFull(z *zone) {
	for len(z.heap) > 0 && q.p.full(z.heap[0]) {
		last := len(z.heap) - 1
		z.heap[0] = z.heap[last]
		z.heap = z.heap[:last]
		q.p.down(z.heap, 0)
	}
}

func (q *queue) before(a, b *zone) bool {
	if a.items != b.items {
		return a.items < b.items
	}
	return q.p.less(a.heap[0], b.heap[0])
}

// added tells that the best member got an item.
func (q *queue) added(m int) {
	z := &q.zones[q.of[m]]
	z.items++
	q.p.down(z.heap, 0)
}

func (p *placer) down(h []int, i int) {
	for {
		least := i
		if l := 2*i + 1; l < len(h) && p.less(h[l], h[least]) {
			least = l
		}
		if r := 2*i + 2; r < len(h) && p.less(h[r], h[least]) {
			least = r
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

func label(labels []Label, key string) (string, bool) {
	for _, l := range labels {
		if l.Key == key {
			return l.Value, true
		}
	}
	return "", false
}

// Allows tells whether the rules of the class let the member have its items; capacity and draining apart.
func Allows(c Class, m Member) bool {
	if c.Pin != "" && c.Pin != m.ID {
		return false
	}
	for _, want := range c.Selector {
		if v, ok := label(m.Labels, want.Key); !ok || v != want.Value {
			return false
		}
	}
	if c.SpreadOver != "" {
		_, ok := label(m.Labels, c.SpreadOver)
		return ok
	}
	return true
}
