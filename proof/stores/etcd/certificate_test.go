package etcd_test

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
)

// certificate is rig.Certificate in files, as the server wants it.
func certificate(t *testing.T) (certFile, keyFile string, client *tls.Config) {
	t.Helper()
	cert, key, client := rig.Certificate(t)
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	must.Succeed(t, os.WriteFile(certFile, []byte(cert), 0o600))
	must.Succeed(t, os.WriteFile(keyFile, []byte(key), 0o600))
	return certFile, keyFile, client
}
