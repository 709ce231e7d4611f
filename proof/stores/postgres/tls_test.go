package postgres_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"testing"
	"time"

	server "github.com/rota-run/rota/proof/server/postgres"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/postgres"
)

// certificate makes a certificate that signs itself, for 127.0.0.1, and the client's side of it.
func certificate(t *testing.T) (cert, key string, client *tls.Config) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return string(certPEM), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})), &tls.Config{RootCAs: pool}
}

// TestTLS: all contracts work over an encrypted connection, and what is wrong with one is said.
func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key, client := certificate(t)
	s := own(t, server.Options{
		Settings: []string{"ssl=on"}, Files: map[string]string{"server.crt": cert, "server.key": key},
		HBA: "host all rota 127.0.0.1/32 trust\nhostssl all al 127.0.0.1/32 scram-sha-256\n",
	})
	sql(t, s, "CREATE USER al PASSWORD '"+secret+"'")
	o := on(s)
	o.User, o.Password, o.TLS = "al", secret, client
	sql(t, s, fmt.Sprintf("CREATE SCHEMA %q AUTHORIZATION al", o.Schema))
	st := openWith(t, o)
	hints, err := st.Watch(rig.Deadline(t), "")
	if err != nil {
		t.Fatal(err)
	}
	<-hints
	if _, err := openSession(t, st).Put(rig.Deadline(t), store.Doc{Key: "s"}); err != nil {
		t.Fatal(err)
	}
	rig.Hinted(t, hints)
	if n := ties(t, s, o); n != 1 {
		t.Errorf("%d ties of a session over TLS, want 1", n)
	}
	with := func(change func(*postgres.Options)) postgres.Options {
		changed := o
		change(&changed)
		return changed
	}
	refusal(t, with(func(o *postgres.Options) { o.TLS = nil }), "pg_hba.conf", "it may want TLS")
	refusal(t, with(func(o *postgres.Options) { o.TLS = &tls.Config{MinVersion: tls.VersionTLS12} }), "certificate of the authority")
	refusal(t, with(func(o *postgres.Options) { o.TLS = client.Clone(); o.TLS.ServerName = "db.example" }), "use the name that it has")
	plain := options(t)
	plain.TLS = client
	refusal(t, plain, "does not speak TLS")
}
