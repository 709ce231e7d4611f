package rig

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/port"
	"github.com/rota-run/rota/internal/store/refusal"
	"github.com/rota-run/rota/store"
)

// Secret is a password that no error may show.
const Secret = refusal.Secret

// Refusal is a store that must not be opened.
type Refusal[O any] = refusal.Case[O]

// Says is refusal.Says.
func Says[O any](o O, is error, words ...string) Refusal[O] { return refusal.Says(o, is, words...) }

// With returns what makes options like these, but for what it changes.
func With[O any](o O) func(change func(*O)) O {
	return func(change func(*O)) O {
		changed := o
		change(&changed)
		return changed
	}
}

// Refusals is refusal.All.
func Refusals[O any, S io.Closer](t *testing.T, open refusal.Opener[O, S], cases map[string]Refusal[O]) {
	t.Helper()
	refusal.All(t, open, cases)
}

// Refused is refusal.One.
func Refused[O any, S io.Closer](t *testing.T, open refusal.Opener[O, S], o O, is error, words ...string) {
	t.Helper()
	refusal.One(t, open, o, is, words...)
}

var errGaveUp = errors.New("the caller gave up")

// Cancelled cancels Open before it begins, and while it waits for a server that says nothing.
func Cancelled[O any, S io.Closer](t *testing.T, open refusal.Opener[O, S], silent O) {
	t.Helper()
	for _, after := range []time.Duration{0, 50 * time.Millisecond} {
		ctx, cancel := context.WithCancelCause(Deadline(t))
		if time.AfterFunc(after, func() { cancel(errGaveUp) }); after == 0 {
			<-ctx.Done()
		}
		if _, err := open(ctx, silent); !errors.Is(err, errGaveUp) {
			t.Errorf("open, cancelled after %v: error %v, want the cause", after, err)
		}
	}
}

// Together opens a store that is not there yet many times at once: all get it, and append to one log.
func Together[O any, S store.Full](t *testing.T, open func(context.Context, O) (S, error), o O) {
	t.Helper()
	const many = 8
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			s, err := open(Deadline(t), o)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			if _, err := s.Append(Deadline(t), []byte("x")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s := Place[O, S]{Open: open}.With(t, o)
	if page, err := s.Read(Deadline(t), 0, 100); err != nil || len(page.Records) != many {
		t.Errorf("%d records, %v; want %d", len(page.Records), err, many)
	}
}

// Nobody is an address at which nobody listens.
func Nobody(t testing.TB) string {
	t.Helper()
	addrs, release, err := port.Find(1)
	must.Succeed(t, err)
	t.Cleanup(release)
	return addrs[0]
}

// Silent accepts connections and says nothing.
func Silent(t testing.TB) string {
	t.Helper()
	return Greets(t, func(net.Conn) {})
}

// Greets calls each for each connection, and keeps it open until the test ends. It returns its address.
func Greets(t testing.TB, each func(net.Conn)) string {
	t.Helper()
	l := must.Get(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	var open []net.Conn
	var accepting, all sync.WaitGroup
	accepting.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open = append(open, c)
			all.Go(func() { each(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		accepting.Wait()
		for _, c := range open {
			c.Close()
		}
		all.Wait()
	})
	return l.Addr().String()
}

// Front passes connections on to a server: pass gets both ends of each, which are closed when it returns. It returns
// its address.
func Front(t testing.TB, server string, pass func(client, server net.Conn)) string {
	t.Helper()
	return Greets(t, func(client net.Conn) {
		defer client.Close()
		behind, err := net.Dial("tcp", server)
		if err != nil {
			return
		}
		defer behind.Close()
		pass(client, behind)
	})
}

// Backward passes on what a server says until either side ends, and ends both. Wait for what it returns.
func Backward(client io.WriteCloser, server io.ReadCloser) *sync.WaitGroup {
	var over sync.WaitGroup
	over.Go(func() {
		_, _ = io.Copy(client, server) // until either side ends
		client.Close()
		server.Close()
	})
	return &over
}

// TLSFront takes TLS off in front of a server, and returns its address.
func TLSFront(t testing.TB, server string, c *tls.Config) string {
	t.Helper()
	return Front(t, server, func(plain, behind net.Conn) {
		client := tls.Server(plain, c)
		over := Backward(client, behind)
		_, _ = io.Copy(behind, client) // until either side ends
		behind.Close()
		over.Wait()
	})
}

// Certificate makes a certificate for 127.0.0.1 that signs itself, and its key, both as PEM, and the side of a client
// that trusts it alone.
func Certificate(t testing.TB) (cert, key string, client *tls.Config) {
	t.Helper()
	secret := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter:    time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret))(t)
	private := must.Get(x509.MarshalPKCS8PrivateKey(secret))(t)
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	client = &tls.Config{RootCAs: x509.NewCertPool()}
	client.RootCAs.AppendCertsFromPEM(public)
	return string(public), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})), client
}
