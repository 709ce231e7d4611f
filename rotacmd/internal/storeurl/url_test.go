package storeurl

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/stories"
)

var kinds = map[string]Scheme{
	"etcd":      {Name: "etcd", Port: "2379"},
	"nats":      {Name: "nats", Port: "4222", Keys: []string{"token", "creds", "replicas"}},
	"postgres":  {Name: "postgres", Port: "5432", Keys: []string{"schema"}, UserAtHost: true},
	"elastic":   {Name: "elastic", Port: "9200", Keys: []string{"api-key", "replicas"}},
	"kafka":     {Name: "kafka", Port: "9092", Keys: []string{"mechanism"}},
	"zookeeper": {Name: "zookeeper", Port: "2181", Keys: []string{"session"}},
}

func parse(t *testing.T, text string) (URL, error) {
	t.Helper()
	scheme, _, _ := strings.Cut(text, ":")
	return Parse(text, kinds[scheme], func(name string) string {
		return map[string]string{"PW": "hidden-pw"}[name]
	})
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"etcd://127.0.0.1:2379/weather", "etcd://127.0.0.1:2379/weather"},
		{"etcd://h1,h2:5,[::1]/a/b/", "etcd://h1:2379,h2:5,[::1]:2379/a/b"},
		{"nats://localhost", "nats://localhost:4222/rota"},
		{"zookeeper://z1:2181/x?session=6s&timeout=500ms", "zookeeper://z1:2181/x"},
		{"elastic://es1,es2:9201/weather?api-key=env:PW&tls=on", "elastic://es1:9200,es2:9201/weather"},
		{"etcd://h/x?user=al&password=env:PW", "etcd://h:2379/x"},
		{"etcd://[fe80::1%eth0]:5/x", "etcd://[fe80::1%eth0]:5/x"},
		{"etcd://h/" + strings.Repeat("x", 100), "etcd://h:2379/" + strings.Repeat("x", 100)},
		{"postgres://h", "postgres://h:5432/rota/rota"},
		{"postgres://al@h:5,[::1]/app", "postgres://al@h:5,[::1]:5432/app/rota"},
		{"postgres://al@h/app?schema=weather&password=env:PW", "postgres://al@h:5432/app/weather"},
		{"postgres://h/app/weather?user=al", "postgres://al@h:5432/app/weather"},
	} {
		u, err := parse(t, c.text)
		if err != nil || u.String() != c.want {
			t.Errorf("%s: %v, %v; want %s", c.text, u, err, c.want)
		}
	}
}

func TestParameters(t *testing.T) {
	t.Parallel()
	pw := filepath.Join(t.TempDir(), "pw")
	must.Succeed(t, os.WriteFile(pw, []byte("from-file\n"), 0o600))
	u := must.Get(parse(t, "nats://h?user=al&password=file:"+pw+"&replicas=5&tls=on&server-name=s&timeout=2s"))(t)
	if u.User != "al" || u.Password != "from-file" || u.Replicas != 5 || u.TLS == nil || u.TLS.ServerName != "s" ||
		u.Timeout.Seconds() != 2 {
		t.Errorf("%+v", u)
	}
	if u := must.Get(parse(t, "zookeeper://h/x?session=1h&timeout=100ms"))(t); u.Session != time.Hour || u.Timeout != 100*time.Millisecond || u.TLS != nil {
		t.Errorf("%+v", u)
	}
	if u := must.Get(parse(t, "nats://h?creds=/c&token=env:PW&tls=on"))(t); u.Credentials != "/c" ||
		u.Token != "hidden-pw" || u.TLS == nil {
		t.Errorf("%+v", u)
	}
	if u := must.Get(parse(t, "kafka://h?mechanism=plain"))(t); u.Mechanism != "plain" {
		t.Errorf("%+v", u)
	}
	server := httptest.NewTLSServer(nil) // has a certificate
	server.Close()
	for name, block := range map[string]*pem.Block{
		"cert": {Type: "CERTIFICATE", Bytes: server.Certificate().Raw},
		"key":  {Type: "PRIVATE KEY", Bytes: must.Get(x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey))(t)},
	} {
		must.Succeed(t, os.WriteFile(pw+name, pem.EncodeToMemory(block), 0o600))
	}
	if u := must.Get(parse(t, "etcd://h?ca="+pw+"cert&cert="+pw+"cert&key="+pw+"key"))(t); u.TLS == nil ||
		u.TLS.RootCAs == nil || len(u.TLS.Certificates) != 1 || u.TLS.MinVersion != tls.VersionTLS12 {
		t.Errorf("%+v", u)
	}
	must.Succeed(t, os.WriteFile(pw, []byte("\n"), 0o600))
	if _, err := parse(t, "nats://h?user=al&password=file:"+pw); err == nil {
		t.Error("the password is empty")
	}
	if b := u.Beside(".check"); b.Path != "rota.check" || u.Path != "rota" || b.User != "al" {
		t.Errorf("beside: %+v", b)
	}
	u = must.Get(parse(t, "postgres://h/app/weather"))(t)
	if b := u.Beside(".check"); b.Schema != "weather.check" || b.Path != "app" {
		t.Errorf("beside: %+v", b)
	}
	if got := Hide("etcd://al:a@b@h/x"); got != "etcd://***@h/x" {
		t.Errorf("hidden: %s", got)
	}
}

// Each fault is named, with what to write, and no secret comes back.
func TestFaults(t *testing.T) {
	t.Parallel()
	for text, said := range stories.Rows(t, "testdata/faults.txt", "$X", strings.Repeat("x", 101), "$LONG",
		strings.Repeat("1s", 50_000)) {
		if u, err := parse(t, text); err == nil || !said.In(err.Error()) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, %v; want %q", text, u, err, said.Want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("h1:2181,h2/a/b?session=6s&user=al&password=env:PW")
	f.Add("al:pw@h/x")
	f.Add("[::1]:5/a?tls=on")
	f.Fuzz(func(t *testing.T, rest string) {
		u, err := Parse("zookeeper://"+rest, kinds["zookeeper"], func(string) string { return "hidden-pw" })
		if err != nil {
			if strings.Contains(err.Error(), "hidden-pw") {
				t.Fatalf("the secret is in %v", err)
			}
			return
		}
		if strings.Contains(u.String(), "hidden-pw") && !strings.Contains(rest, "hidden-pw") {
			t.Fatalf("the secret is in %v", u)
		}
		again, err := Parse(u.String(), kinds["zookeeper"], func(string) string { return "" })
		if err != nil || again.String() != u.String() {
			t.Fatalf("%q gives %q, which gives %q, %v", rest, u, again, err)
		}
	})
}
