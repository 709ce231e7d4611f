package tasks

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"strings"
	"sync"
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

// maxAuthorities bounds ca: the bundle of an operating system has a quarter of it.
const maxAuthorities = 1 << 20

// certificates are the fields of a check for TLS: whom it trusts, and what it shows.
type certificates struct {
	CA   secretText `json:"ca"`   // the only authorities that are trusted: env:NAME, file:/path, or PEM
	Cert secretText `json:"cert"` // the client certificate with its chain: env:NAME, file:/path, or PEM
	Key  secretText `json:"key"`  // the private key of cert: env:NAME or file:/path
}

// check finds what can never work. overTLS is false where the check has a URL that is not encrypted.
func (c certificates) check(f *faults, overTLS bool) {
	for _, one := range []struct {
		path string
		text secretText
	}{{"ca", c.CA}, {"cert", c.Cert}} {
		if one.text == "" {
			continue
		}
		if !overTLS {
			f.add(one.path, "write https:// in url, or leave it out", "an http:// URL has no TLS")
		}
		if strings.HasPrefix(string(one.text), "-----BEGIN ") {
			if _, err := parseCertificates(string(one.text)); err != nil {
				f.add(one.path, "PEM, as openssl writes it", "%w", err)
			}
			continue
		}
		one.text.checkReference(f, one.path)
	}
	if c.Key != "" {
		c.Key.checkReference(f, "key")
	}
	switch {
	case c.Cert != "" && c.Key == "":
		f.add("key", "the private key of cert: file:/absolute/path or env:NAME", "missing")
	case c.Cert == "" && c.Key != "":
		f.add("cert", "the certificate of key: file:/absolute/path or env:NAME", "missing")
	}
}

// parseCertificates reads all certificates of a PEM text. One that cannot be read is an error, lest an authority is
// missing in silence.
func parseCertificates(text string) (out []*x509.Certificate, err error) {
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d in it: %w", len(out)+1, err)
		}
		out = append(out, cert)
	}
	if len(out) == 0 {
		return nil, errors.New("there is no PEM certificate in it")
	}
	return out, nil
}

// credentials reads certificates anew for every round, so that renewed ones are used. It parses them when they have
// changed.
type credentials struct {
	c     certificates
	roots *x509.CertPool // that are trusted without ca; nil for those of the system

	mu    sync.Mutex
	texts [3]string // of ca, cert and key as parsed
	now   shown
}

// shown is what one round trusts and shows.
type shown struct {
	roots *x509.CertPool
	cert  *tls.Certificate // nil for none
}

// read returns what a round uses. Its error says which field is wrong, and nothing of what a secret holds.
func (k *credentials) read() (shown, error) {
	var texts [3]string
	for n, one := range []struct {
		field string
		text  secretText
		most  int
	}{{"ca", k.c.CA, maxAuthorities}, {"cert", k.c.Cert, maxSecret}, {"key", k.c.Key, maxSecret}} {
		text, err := one.text.resolveUpTo(one.most)
		if err != nil {
			return shown{}, fmt.Errorf("config.%s: %w; try: a PEM file that this member may read", one.field, err)
		}
		texts[n] = text
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now == (shown{}) || texts != k.texts {
		now, err := k.parse(texts)
		if err != nil {
			return shown{}, err
		}
		k.texts, k.now = texts, now
	}
	return k.now, nil
}

func (k *credentials) parse(texts [3]string) (shown, error) {
	out := shown{roots: k.roots}
	if k.c.CA != "" {
		authorities, err := parseCertificates(texts[0])
		if err != nil {
			return out, fmt.Errorf("config.ca: %s: %w; try: PEM, as openssl writes it", k.c.CA.name(), err)
		}
		out.roots = x509.NewCertPool()
		for _, a := range authorities {
			out.roots.AddCert(a)
		}
	}
	if k.c.Cert == "" {
		return out, nil
	}
	if _, err := parseCertificates(texts[1]); err != nil {
		return out, fmt.Errorf("config.cert: %s: %w; try: PEM, as openssl writes it", k.c.Cert.name(), err)
	}
	pair, err := tls.X509KeyPair([]byte(texts[1]), []byte(texts[2]))
	if err != nil {
		const try = "the PEM key of this certificate, without a passphrase"
		return out, fmt.Errorf("config.key: %s does not fit the certificate %s: %w; try: %s",
			k.c.Key.name(), k.c.Cert.name(), err, try)
	}
	out.cert = &pair
	return out, nil
}

// config is that of a connection. away leaves out the client certificate: it is for one server.
func (s shown) config(away bool) *tls.Config {
	c := &tls.Config{RootCAs: s.roots, MinVersion: tls.VersionTLS12}
	if s.cert != nil && !away {
		// Also where the server names other authorities: so it says what it misses.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return s.cert, nil }
	}
	return c
}

// days are those until the client certificate ends, if there is one.
func (s shown) days(now time.Time) (float64, bool) {
	if s.cert == nil {
		return 0, false
	}
	return daysLeft([][]*x509.Certificate{{s.cert.Leaf}}, now)
}

// valid says whether the client certificate has ended, or has not begun.
func (s shown) valid(now time.Time) error {
	if s.cert == nil {
		return nil
	}
	const day = "2006-01-02 15:04 MST"
	switch leaf := s.cert.Leaf; {
	case now.After(leaf.NotAfter):
		return fmt.Errorf("config.cert: the client certificate ended on %s; try: renew it",
			leaf.NotAfter.UTC().Format(day))
	case now.Before(leaf.NotBefore):
		from := leaf.NotBefore.UTC().Format(day)
		return fmt.Errorf("config.cert: the client certificate begins on %s; try: the clock of this member", from)
	}
	return nil
}

// current reads what a round shows, emits TYPE.client_expiry_days, and refuses a client certificate that is not valid
// now.
func (k *credentials) current(g *work.Grant, typ string) (shown, error) {
	s, err := k.read()
	if err != nil {
		return s, err
	}
	now := time.Now()
	if days, ok := s.days(now); ok {
		g.Value(typ+".client_expiry_days", days, nil)
	}
	return s, s.valid(now)
}
