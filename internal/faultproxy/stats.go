package faultproxy

// Stats counts what happened since Listen.
type Stats struct {
	Accepted int   // connections that clients made
	Turned   int   // of these: reset at once, because of Cut
	Reset    int   // connections that a fault, Heal or Close reset later
	Open     int   // connections now
	Requests int64 // bytes that were passed on to the server
	Replies  int64 // bytes that were passed on to clients
	Dropped  int64 // bytes that were swallowed
	Held     int64 // bytes that wait now, of connections that are open
}

func (s *Stats) passed(d direction, n int) {
	if d == requests {
		s.Requests += int64(n)
		return
	}
	s.Replies += int64(n)
}

// Stats tells the counts.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Open = len(p.conns)
	for c := range p.conns {
		for _, l := range c.running() {
			s.Held += l.held.Load()
		}
	}
	return s
}
