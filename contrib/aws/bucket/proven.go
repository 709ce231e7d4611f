package bucket

import "sync"

// proven remembers marks that were read and are of the present version of their object, so that another look at the same two reads none. It forgets
// what was not asked for in a long time, which costs a request. It is safe for concurrent use.
type proven struct {
	mu          sync.Mutex
	now, before map[listed]listed // marks by their objects, both as a listing shows them
}

// maxProven is how many are remembered at least.
const maxProven = 1 << 15

func newProven() *proven { return &proven{now: map[listed]listed{}} }

func (p *proven) has(object, mark listed) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	m, ok := p.now[object]
	if !ok {
		if m, ok = p.before[object]; ok && m == mark {
			p.keep(object, mark)
		}
	}
	return ok && m == mark
}

func (p *proven) add(object, mark listed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep(object, mark)
}

func (p *proven) keep(object, mark listed) {
	if len(p.now) >= maxProven {
		p.now, p.before = map[listed]listed{}, p.now
	}
	p.now[object] = mark
}
