package kafka_test

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"hash"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/kafka"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/kafka"
)

// secured starts a broker with users, and a listener for each way in. alice may do everything; bob may do nothing.
func secured(t *testing.T) (c *server.Cluster, roots *x509.CertPool) {
	t.Helper()
	cert, key, client := rig.Certificate(t)
	path := filepath.Join(t.TempDir(), "server.pem")
	must.Succeed(t, os.WriteFile(path, []byte(key+cert), 0o600))
	const module = "org.apache.kafka.common.security."
	c = ownServers(t, server.Options{
		Listeners: []server.Listener{{Name: "SASL", Protocol: "SASL_PLAINTEXT"}, {Name: "TLS", Protocol: "SSL"}},
		Config: []string{
			"listener.name.sasl.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
			"listener.name.sasl.plain.sasl.jaas.config=" + module +
				`plain.PlainLoginModule required user_alice="` + rig.Secret + `" user_bob="` + rig.Secret + `";`,
			"listener.name.sasl.scram-sha-256.sasl.jaas.config=" + module + "scram.ScramLoginModule required;",
			"listener.name.sasl.scram-sha-512.sasl.jaas.config=" + module + "scram.ScramLoginModule required;",
			"listener.name.tls.ssl.keystore.type=PEM", "listener.name.tls.ssl.keystore.location=" +
				filepath.ToSlash(path),
			"authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
			"super.users=User:ANONYMOUS;User:alice",
		},
	})
	for mechanism, h := range map[int8]func() hash.Hash{1: sha256.New, 2: sha512.New} {
		setPassword(t, c, mechanism, h, "alice", rig.Secret)
	}
	return c, client.RootCAs
}

func setPassword(t *testing.T, c *server.Cluster, mechanism int8, h func() hash.Hash, user, password string) {
	t.Helper()
	salted, err := pbkdf2.Key(h, password, []byte("salt"), 4096, h().Size())
	must.Succeed(t, err)
	one := kmsg.NewAlterUserSCRAMCredentialsRequestUpsertion()
	one.Name, one.Mechanism, one.Iterations, one.Salt, one.SaltedPassword = user, mechanism, 4096, []byte("salt"),
		salted
	req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	req.Upsertions = []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{one}
	client, err := c.Client()
	must.Succeed(t, err)
	defer client.Close()
	resp, err := client.Request(rig.Deadline(t), req)
	must.Succeed(t, err)
	if err := kerr.ErrorForCode(resp.(*kmsg.AlterUserSCRAMCredentialsResponse).Results[0].ErrorCode); err != nil { //nolint:forcetypeassert // the answer to such a request
		t.Fatal(err)
	}
}

func TestSecurity(t *testing.T) {
	t.Parallel()
	c, roots := secured(t)
	as := func(user, password, mechanism string) kafka.Options {
		return kafka.Options{Brokers: c.Listening(0), User: user, Password: password, Mechanism: mechanism,
			Name: freshName(t), Timeout: 5 * time.Second}
	}
	over := func(trusted *tls.Config) kafka.Options {
		return kafka.Options{Brokers: c.Listening(1), TLS: trusted, Name: freshName(t), Timeout: 5 * time.Second}
	}
	trusting := over(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
	refused := map[string]rig.Refusal[kafka.Options]{
		"unknown authority": rig.Says(over(&tls.Config{MinVersion: tls.VersionTLS12}), store.ErrUnavailable,
			"certificate", "ca"),
		"plain text to TLS": rig.Says(over(nil), store.ErrUnavailable),
		"nobody's acl":      rig.Says(as("bob", rig.Secret, "plain"), store.ErrUnavailable, "kafka-acls.sh", "--topic"),
		"no user":           rig.Says(as("", "", ""), store.ErrUnavailable),
	}
	t.Run("ways in", func(t *testing.T) {
		t.Run("tls", func(t *testing.T) { t.Parallel(); use(t, trusting) })
		for _, mechanism := range []string{"plain", "scram-sha-256", "scram-sha-512", ""} {
			refused["wrong password, "+mechanism] = rig.Says(as("alice", rig.Secret+"!", mechanism),
				store.ErrUnavailable, "try")
			t.Run("mechanism "+mechanism, func(t *testing.T) {
				t.Parallel()
				use(t, as("alice", rig.Secret, mechanism))
			})
		}
		rig.Refusals(t, kafka.Open, refused)
	})
}

// use does a little of everything.
func use(t *testing.T, o kafka.Options) {
	t.Helper()
	o.Timeout = 0 // as usual: a machine may be busy
	s, ctx := openWith(t, o), rig.Deadline(t)
	if _, err := s.Append(ctx, []byte("a")); err != nil {
		t.Error(err)
	}
	if _, err := s.Put(ctx, store.Doc{Key: "a"}); err != nil {
		t.Error(err)
	}
	if _, err := s.JoinGroup(ctx, store.JoinRequest{Session: time.Minute, Rebalance: time.Minute}); err != nil {
		t.Error(err)
	}
}
