package tasks

import (
	"crypto/tls"
	"crypto/x509"
	"net/http/httptrace"
	"sync"
	"time"
)

// phaseNames in the order in which they happen.
var phaseNames = []string{"dns", "connect", "tls", "first_byte"}

// phases measures the parts of an exchange, redirects added up. The transport calls from several goroutines, some after the exchange is over.
type phases struct {
	mu    sync.Mutex
	began map[string]time.Time
	took  map[string]time.Duration
}

// begin keeps the first beginning: two addresses of a host may be tried side by side.
func (p *phases) begin(phase string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.began == nil {
		p.began = map[string]time.Time{}
	}
	if _, ok := p.began[phase]; !ok {
		p.began[phase] = time.Now()
	}
}

func (p *phases) end(phase string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, ok := p.began[phase]
	if !ok {
		return
	}
	delete(p.began, phase)
	if p.took == nil {
		p.took = map[string]time.Duration{}
	}
	p.took[phase] += time.Since(at)
}

// durations returns what has ended so far.
func (p *phases) durations() map[string]time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string]time.Duration, len(p.took))
	for k, v := range p.took {
		out[k] = v
	}
	return out
}

func (p *phases) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		DNSStart:     func(httptrace.DNSStartInfo) { p.begin("dns") },
		DNSDone:      func(httptrace.DNSDoneInfo) { p.end("dns") },
		ConnectStart: func(string, string) { p.begin("connect") },
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				p.end("connect")
			}
		},
		TLSHandshakeStart:    func() { p.begin("tls") },
		TLSHandshakeDone:     func(tls.ConnectionState, error) { p.end("tls") },
		WroteRequest:         func(httptrace.WroteRequestInfo) { p.begin("first_byte") },
		GotFirstResponseByte: func() { p.end("first_byte") },
	}
}

// daysLeft is how long the verified chain that lasts longest is valid: its first certificate to end counts, not only the leaf.
func daysLeft(chains [][]*x509.Certificate, now time.Time) (float64, bool) {
	var best time.Time
	for _, chain := range chains {
		var end time.Time
		for _, c := range chain {
			if end.IsZero() || c.NotAfter.Before(end) {
				end = c.NotAfter
			}
		}
		if end.After(best) {
			best = end
		}
	}
	return best.Sub(now).Hours() / 24, !best.IsZero()
}
