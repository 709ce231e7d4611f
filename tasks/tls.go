package tasks

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"time"

	"github.com/rota-run/rota/work"
)

// tlsConfig of tls.
type tlsConfig struct {
	Addr       string   `json:"addr"`        // host:port
	ServerName string   `json:"server_name"` // name the certificate must have; default the host of addr
	MinDays    float64  `json:"min_days"`    // the check fails if the certificate expires sooner
	Allow      []string `json:"allow"`       // CIDRs that are allowed although they are not public
	certificates
}

// verdictTime is how long a server may take to refuse a client certificate once it has it.
const verdictTime = 2 * time.Second

type tlsRunner struct {
	c       tlsConfig
	timeout time.Duration
	dialer  *net.Dialer
	shows   *credentials
	found   finder
}

func (o Options) tls() work.Type {
	return work.Type{
		Name: "tls", Doc: "a certificate is valid and for how long", Periodic: true, DefaultEvery: defaultEvery,
		New: typed(func(c tlsConfig, d work.Definition, f *faults) work.Runner {
			g := o.guard(f, c.Allow)
			host := checkEndpoint(f, g, "addr", c.Addr)
			c.ServerName = cmp.Or(c.ServerName, host)
			if c.MinDays < 0 {
				f.add("min_days", "", "%v is negative", c.MinDays)
			}
			c.certificates.check(f, true)
			timeout := roundTimeout(d)
			return &tlsRunner{
				c: c, timeout: timeout, dialer: g.dialer(timeout), found: finder{prefix: "tls"},
				shows: &credentials{c: c.certificates, roots: o.RootCAs},
			}
		}),
	}
}

// Run makes one round. It also emits the days left of an invalid certificate, by its leaf.
func (t *tlsRunner) Run(ctx context.Context, g *work.Grant) error {
	round, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	now, err := t.shows.current(g, "tls")
	if err != nil {
		return fmt.Errorf("prepare the handshake: %w", err)
	}
	var p phases
	days, known, err := t.shake(httptrace.WithClientTrace(round, p.trace()), &p, now)
	if err == nil && days < t.c.MinDays {
		err = &unexpected{"expiry", fmt.Errorf("the certificate of %s ends in %.1f days, want at least %v", t.c.Addr,
			days, t.c.MinDays)}
	}
	out := t.found.report(ctx, g, err)
	if cut(ctx) {
		return out
	}
	if known {
		g.Value("tls.expiry_days", days, nil)
	}
	t.found.latencies(g, &p)
	return out
}

// shake connects and shakes hands; known reports whether a certificate came.
func (t *tlsRunner) shake(ctx context.Context, p *phases, s shown) (days float64, known bool, err error) {
	raw, err := t.dialer.DialContext(ctx, "tcp", t.c.Addr)
	if err != nil {
		return 0, false, err
	}
	defer raw.Close()
	c := s.config(false)
	c.ServerName = t.c.ServerName
	conn := tls.Client(raw, c)
	p.begin("tls")
	err = conn.HandshakeContext(ctx)
	p.end("tls")
	var bad *tls.CertificateVerificationError
	switch {
	case errors.As(err, &bad):
		days, known = daysLeft([][]*x509.Certificate{bad.UnverifiedCertificates[:1]}, time.Now())
		return days, known, fmt.Errorf("certificate of %s: %w", t.c.Addr, err)
	case err != nil:
		return 0, false, fmt.Errorf("shake hands with %s: %w", t.c.Addr, err)
	}
	days, known = daysLeft(conn.ConnectionState().VerifiedChains, time.Now())
	if err := verdict(ctx, conn, s); err != nil {
		return days, known, fmt.Errorf("%s refuses the client certificate: %w", t.c.Addr, err)
	}
	return days, known, nil
}

// verdict waits for what the server says of a client certificate. From TLS 1.3 on the handshake of a client ends before
// the server has looked at it.
func verdict(ctx context.Context, conn *tls.Conn, s shown) error {
	if s.cert == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, verdictTime)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })() // ends what waits
	if err := conn.CloseWrite(); err != nil {
		return err
	}
	if _, err := conn.Read(make([]byte, 1)); isAlert(err) { // an answer, an end and silence are no refusal
		return err
	}
	return nil
}
