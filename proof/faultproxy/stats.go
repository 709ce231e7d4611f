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

	// Bytes that were read and not passed on yet, of connections that are open. Without a fault that holds them there are such too, for a moment:
	// what a stalled direction has is certain, what the other one has is not.
	HeldRequests int64
	HeldReplies  int64
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
		if lanes := c.running(); lanes != nil {
			s.HeldRequests += lanes[requests].held.Load()
			s.HeldReplies += lanes[replies].held.Load()
		}
	}
	return s
}
