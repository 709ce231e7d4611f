package rig

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
)

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
