package tasks

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/internal/proof/must"
)

// listen serves each connection with talk until the test ends.
func listen(t *testing.T, talk func(net.Conn)) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			talk(c)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-ended })
	return l.Addr().String()
}

func TestTCPRefusesInternalAddresses(t *testing.T) {
	t.Parallel()
	addr := listen(t, func(net.Conn) { t.Error("the server was reached") })
	_, port, _ := net.SplitHostPort(addr)
	for _, typ := range []string{"tcp", "tls"} {
		h, err := round(t, Options{}, typ, object{"addr": "localhost:" + port})
		var refused *AddressError
		if !errors.As(err, &refused) {
			t.Errorf("%s: got %v, want the address refused", typ, err)
		}
		wantDown(t, h, typ, "refused", err)
	}
}

// An answer comes in any pieces, the last one with the end. What is beyond max_answer is not looked at.
func TestTCPAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer, expect string
		most           int
		found          bool
	}{
		{"hello you", "hello", 100, true},
		{"hello you", "lo y", 100, true},
		{"hello you", "you", 9, true},
		{"hello you", "you", 8, false},
		{"hello you", "bye", 100, false},
	} {
		r := &tcpRunner{c: tcpConfig{Expect: c.expect, MaxAnswer: c.most}}
		for _, reader := range []io.Reader{
			strings.NewReader(c.answer), iotest.OneByteReader(strings.NewReader(c.answer)),
			iotest.DataErrReader(strings.NewReader(c.answer)),
		} {
			if err := r.await(reader, &phases{}); (err == nil) != c.found {
				t.Errorf("%q in %d bytes of %q: %v", c.expect, c.most, c.answer, err)
			}
		}
	}
}

// certificate makes a self-signed one for shop.example that ends then, and a pool that trusts it.
func certificate(t *testing.T, end time.Time) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"shop.example"},
		NotBefore: end.AddDate(-1, 0, 0), NotAfter: end, IsCA: true, BasicConstraintsValid: true}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	parsed := must.Get(x509.ParseCertificate(der))(t)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestTLS(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		end        time.Duration
		serverName string
		minDays    float64
		distrust   bool
		reason     string // "" for up
	}{
		"valid":         {end: 30 * day, serverName: "shop.example"},
		"ends soon":     {end: 5 * day, serverName: "shop.example", minDays: 14, reason: "expiry"},
		"ended":         {end: -2 * day, serverName: "shop.example", reason: "tls"},
		"other name":    {end: 30 * day, serverName: "other.example", reason: "tls"},
		"other name IP": {end: 30 * day, reason: "tls"},
		"not trusted":   {end: 30 * day, serverName: "shop.example", distrust: true, reason: "tls"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cert, pool := certificate(t, time.Now().Add(c.end))
			addr := listen(t, func(raw net.Conn) {
				_ = tls.Server(raw, &tls.Config{Certificates: []tls.Certificate{cert}}).HandshakeContext(t.Context())
			})
			o := local
			if o.RootCAs = pool; c.distrust {
				o.RootCAs = x509.NewCertPool()
			}
			h, err := round(t, o, "tls", object{"addr": addr, "server_name": c.serverName, "min_days": c.minDays})
			if c.reason == "" {
				wantUp(t, h, "tls", err)
			} else {
				wantDown(t, h, "tls", c.reason, err)
			}
			want := c.end.Hours() / 24
			if got := h.LastValue(t, "tls.expiry_days"); got < want-0.5 || got > want+0.5 {
				t.Errorf("expiry in %v days, want about %v", got, want)
			}
		})
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ addr, kind string }{
		{"93.184.216.34", ""}, {"2606:2800:220:1::1", ""}, {"::ffff:93.184.216.34", ""}, {"64:ff9b::5db8:d822", ""},
		{"127.0.0.1", "loopback"}, {"127.9.9.9", "loopback"}, {"::1", "loopback"}, {"::ffff:127.0.0.1", "loopback"},
		{"10.1.2.3", "private"}, {"172.16.0.1", "private"}, {"192.168.1.1", "private"}, {"fd12::1", "private"},
		{"169.254.1.1", "link-local"}, {"fe80::1%eth0", "link-local"}, {"fe80::1", "link-local"},
		{"169.254.169.254", "metadata"}, {"fd00:ec2::254", "metadata"}, {"100.100.100.200", "metadata"},
		{"168.63.129.16", "metadata"},
		{"0.0.0.0", "this host"}, {"0.1.2.3", "this host"}, {"::", "this host"}, {"100.64.1.1", "private"},
		{"198.18.0.1", "private"},
		{"224.0.0.1", "link-local"}, {"239.1.1.1", "multicast"}, {"ff02::1", "link-local"}, {"ff0e::1", "multicast"},
		{"255.255.255.255", "reserved"},
		{"64:ff9b::7f00:1", "loopback"}, {"64:ff9b::a9fe:a9fe", "metadata"}, {"2002:7f00:1::", "loopback"},
		{"2002:a00:1::", "private"},
		{"::127.0.0.1", "loopback"}, {"::ffff:0:10.0.0.1", "private"}, {"2001:0:1::", "Teredo"},
		{"fec0::1", "site-local"},
	} {
		err := guard{}.check(netip.MustParseAddr(c.addr))
		switch {
		case c.kind == "" && err != nil:
			t.Errorf("%s: refused: %v", c.addr, err)
		case c.kind != "" && (err == nil || !strings.Contains(err.Error(), c.kind)):
			t.Errorf("%s: got %v, want it refused as %s", c.addr, err, c.kind)
		}
	}
}

func TestGuardAllow(t *testing.T) {
	t.Parallel()
	allow := must.Get(ParseCIDRs([]string{"10.1.0.0/16", "fe80::/10", "::ffff:192.168.0.0/112", "127.0.0.1"}))(t)
	g := guard{allow: allow}
	for addr, want := range map[string]bool{
		"10.1.2.3": true, "10.2.2.3": false, "::ffff:10.1.2.3": true, "64:ff9b::a01:203": true, "fe80::1%eth0": true,
		"192.168.3.4": true, "127.0.0.1": true, "127.0.0.2": false,
	} {
		if got := g.check(netip.MustParseAddr(addr)) == nil; got != want {
			t.Errorf("%s: allowed is %v, want %v", addr, got, want)
		}
	}
}

func TestParseCIDRsRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "x", "10.0.0.0/33", "fe80::1%eth0", "10.0.0/8"} {
		if _, err := ParseCIDRs([]string{s}); err == nil {
			t.Errorf("%q was accepted", s)
		}
	}
}

// However an IPv4 address is wrapped, it is judged as that address.
func TestGuardSeesThroughWrappings(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := [4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "addr"))
		plain := guard{}.check(netip.AddrFrom4(b)) == nil
		for name, prefix := range map[string][]byte{
			"mapped": {10: 0xff, 11: 0xff}, "nat64": {1: 0x64, 2: 0xff, 3: 0x9b, 11: 0},
			"siit": {8: 0xff, 9: 0xff, 11: 0},
		} {
			a := netip.AddrFrom16([16]byte(append(prefix, b[:]...)))
			if got := (guard{}).check(a) == nil; got != plain {
				t.Fatalf("%s as %s: allowed is %v, plain %v", netip.AddrFrom4(b), name, got, plain)
			}
		}
	})
}
