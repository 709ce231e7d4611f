package tasks

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/rota-run/rota/work"
)

// unexpected is an answer that came but is not the one that was asked for. Reason is one word of a fixed set, since it
// becomes a tag.
type unexpected struct {
	reason string
	err    error
}

func (e *unexpected) Error() string { return e.err.Error() }
func (e *unexpected) Unwrap() error { return e.err }

// reasonOf puts what went wrong in a check into one word: refused, dns, timeout, tls, connect, io or the reason of an
// unexpected answer.
func reasonOf(err error) string {
	var (
		un   *unexpected
		addr *AddressError
		name *net.DNSError
		op   *net.OpError
	)
	switch {
	case errors.As(err, &un):
		return un.reason
	case errors.As(err, &addr):
		return "refused"
	case errors.As(err, &name):
		return "dns"
	case isTimeout(err):
		return "timeout"
	case isTLS(err):
		return "tls"
	case errors.Is(err, syscall.ECONNREFUSED), errors.As(err, &op) && op.Op == "dial":
		return "connect"
	}
	return "io"
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &t) &&
		t.Timeout()
}

func isTLS(err error) bool {
	var (
		verify *tls.CertificateVerificationError
		record tls.RecordHeaderError
		alert  tls.AlertError
		host   x509.HostnameError
		auth   x509.UnknownAuthorityError
		cert   x509.CertificateInvalidError
	)
	return isAlert(err) || errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &verify) ||
		errors.As(err, &record) || errors.As(err, &alert) ||
		errors.As(err, &host) || errors.As(err, &auth) || errors.As(err, &cert)
}

// isAlert reports whether a peer has ended TLS with an alert, such as one about a certificate.
func isAlert(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "remote error"
}

// finder turns the outcome of a round into samples and remembers the last one, to log changes only.
type finder struct {
	prefix string
	mu     sync.Mutex
	last   string
}

// report emits prefix.up and, if err is not nil, prefix.failure with the reason, and returns what the round ends with:
// nil while the check passes. If ctx was ended from outside, the round says nothing about the target, and its cause is
// returned.
func (f *finder) report(ctx context.Context, g *work.Grant, err error) error {
	if cut(ctx) {
		return context.Cause(ctx)
	}
	err = plainly(err)
	if err == nil {
		f.changed(g, "", nil)
		g.Value(f.prefix+".up", 1, nil)
		return nil
	}
	reason := reasonOf(err)
	f.changed(g, reason, err)
	g.Value(f.prefix+".up", 0, nil)
	g.Value(f.prefix+".failure", 1, map[string]string{"reason": reason})
	return err
}

// changed logs when the finding is another one than in the round before.
func (f *finder) changed(g *work.Grant, reason string, err error) {
	f.mu.Lock()
	before := f.last
	f.last = reason
	f.mu.Unlock()
	switch {
	case before == reason:
	case reason == "":
		g.Log.Info("check passes again", "type", f.prefix, "was", before)
	default:
		g.Log.Info("check fails", "type", f.prefix, "reason", reason, "error", err)
	}
}

// cut reports whether ctx was ended for another cause than its time limit.
func cut(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded)
}

// latency emits prefix.latency_ms of one phase.
func (f *finder) latency(g *work.Grant, phase string, d time.Duration) {
	g.Value(f.prefix+".latency_ms", float64(d)/1e6, map[string]string{"phase": phase})
}

// latencies emits those of all phases that have ended, in the order in which they happen.
func (f *finder) latencies(g *work.Grant, p *phases) {
	took := p.durations()
	for _, phase := range []string{"dns", "connect", "tls", "first_byte"} {
		if d, ok := took[phase]; ok {
			f.latency(g, phase, d)
		}
	}
}

// phases measures the parts of an exchange, redirects added up. The transport calls from several goroutines, some after
// the exchange is over.
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
	return maps.Clone(p.took)
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

// daysLeft is how long the verified chain that lasts longest is valid: its first certificate to end counts, not only
// the leaf.
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
