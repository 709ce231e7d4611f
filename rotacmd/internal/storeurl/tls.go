package storeurl

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// tlsFiles is what a URL says of encryption.
type tlsFiles struct {
	on, said            bool
	ca, cert, key, name string
}

// config is nil where nothing asks for TLS. Without a ca, those that the system trusts are trusted.
func (t *tlsFiles) config() (*tls.Config, error) {
	asked := t.ca != "" || t.cert != "" || t.key != "" || t.name != ""
	switch {
	case t.said && !t.on && asked:
		return nil, fmt.Errorf("tls=off, and yet ca, cert, key or server-name: leave one of them out")
	case !t.on && !asked:
		return nil, nil
	case (t.cert == "") != (t.key == ""):
		return nil, fmt.Errorf("cert and key come together")
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.name}
	if t.ca != "" {
		b, err := os.ReadFile(t.ca)
		if err != nil {
			return nil, fmt.Errorf("read ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("ca %s holds no certificate in PEM", t.ca)
		}
	}
	if t.cert != "" {
		pair, err := tls.LoadX509KeyPair(t.cert, t.key)
		if err != nil {
			return nil, fmt.Errorf("read cert and key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
