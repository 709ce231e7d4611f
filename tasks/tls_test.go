package tasks

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
)

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
