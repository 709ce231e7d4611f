package tasks

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rota-run/rota/work"
)

func TestConfigFaultsSayWhereAndWhatToTry(t *testing.T) {
	t.Parallel()
	checkFaults(t, Options{Witness: true}, []faultCase{
		{"http", `{}`, "config.url", "missing", "https://"},
		{"http", `{"ulr":"https://a.example/"}`, "config.ulr", "unknown field", `did you mean "url"?`},
		{"http", `{"zzzzzzzzz":1}`, "config.zzzzzzzzz", "unknown field", "known fields are allow, body, ca, cert, expect"},
		{"http", `{"url":"https://a.example/","expect":{"statu":200}}`, "config.expect.statu", "unknown field", `"status"`},
		{"http", `{"url":7}`, "config.url", "number does not fit", ""},
		{"http", `{"URL":7}`, "config.URL", "number does not fit", ""},
		{"http", `{"url":"https://a.example/","expect":{"status":"ok"}}`, "config.expect.status", "want a whole number", ""},
		{"http", `{"url":"https://a.example/","expect":{"status":[200,7]}}`, "config.expect.status[1]", "not an HTTP status", "200"},
		{"http", `{"url":"ftp://a.example/"}`, "config.url", `the scheme is "ftp"`, "https://"},
		{"http", `{"url":"example.org"}`, "config.url", `the scheme is ""`, "https://"},
		{"http", `{"url":"https:///x"}`, "config.url", "no host", ""},
		{"http", `{"url":"https://u:p@a.example/"}`, "config.url", "do not belong", "user and password"},
		{"http", `{"url":"http://[::1"}`, "config.url", "not a URL", ""},
		{"http", `{"url":"http://127.0.0.1/"}`, "config.url", "it is loopback", ""},
		{"http", `{"url":"http://[::ffff:10.0.0.1]/"}`, "config.url", "it is private", ""},
		{"http", `{"url":"https://a.example/","method":"FETCH"}`, "config.method", "FETCH", "GET"},
		{"http", `{"url":"https://a.example/","allow":["10.0.0.0/33"]}`, "config.allow[0]", "not a CIDR", ""},
		{"http", `{"url":"https://a.example/","headers":{"a b":"c"}}`, "config.headers.a b", "not the name", ""},
		{"http", `{"url":"https://a.example/","headers":{"X":"file:relative"}}`, "config.headers.X", "not an absolute path", "env:NAME"},
		{"http", `{"url":"https://a.example/","headers":{"X":"Bearer env:"}}`, "config.headers.X", "names nothing", ""},
		{"http", `{"url":"https://a.example/","redirects":-1}`, "config.redirects", "between 0 and 20", ""},
		{"http", `{"url":"https://a.example/","cert":"file:/c"}`, "config.key", "missing", "the private key of cert"},
		{"tls", `{"addr":"a.example:443","key":"env:K"}`, "config.cert", "missing", "the certificate of key"},
		{"http", `{"url":"http://a.example/","ca":"file:/c"}`, "config.ca", "an http:// URL has no TLS", "https://"},
		{"scrape", `{"url":"http://a.example/","cert":"file:/c","key":"file:/k"}`, "config.cert", "an http:// URL has no TLS", "https://"},
		{"tls", `{"addr":"a.example:443","ca":"/etc/ca.pem"}`, "config.ca", "no reference", "file:/absolute/path"},
		{"tls", `{"addr":"a.example:443","ca":"file:ca.pem"}`, "config.ca", "not an absolute path", "file:/absolute/path"},
		{"tls", `{"addr":"a.example:443","ca":"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"}`, "config.ca", "certificate 1 in it", "PEM"},
		{"tls", `{"addr":"a.example:443","cert":"file:/c","key":"-----BEGIN PRIVATE KEY-----"}`, "config.key", "no reference to a secret", "env:NAME"},
		{"http", `{"url":"https://a.example/","user":"ann"}`, "config.password", "missing", "or neither"},
		{"scrape", `{"url":"https://a.example/","password":"env:P"}`, "config.user", "missing", "or neither"},
		{"http", `{"url":"https://a.example/","user":"a:b","password":"env:P"}`, "config.user", "no user has this name", "without a colon"},
		{"http", `{"url":"https://a.example/","user":"ann","password":"env:P","headers":{"authorization":"x"}}`, "config.user", "an Authorization, too", ""},
		{"http", `{"url":"https://a.example/","user":"ann","pasword":"env:P"}`, "config.pasword", "unknown field", `"password"`},
		{"tls", `{"addr":"a.example:443","user":"ann"}`, "config.user", "unknown field", ""},
		{"host", `{"disks":["var"]}`, "config.disks[0]", "not an absolute path", "/var"},
		{"host", `{"disks":["/", 3]}`, "config.disks[1]", "does not fit", ""},
		{"noop", `{"emitt":true}`, "config.emitt", "unknown field", `"emit"`},
		{"witness", `{"path":"w.jsonl"}`, "config.path", "not an absolute path", ""},
	})
}

func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Builtin(Options{})["http"].New(work.Definition{Config: json.RawMessage(`{"method":"X","allow":["y"]}`)})
	for _, want := range []string{"config.url", "config.method", "config.allow[0]"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to name %s", err, want)
		}
	}
}

func TestNoSecretInConfigErrors(t *testing.T) {
	t.Parallel()
	_, err := Builtin(Options{})["http"].New(work.Definition{Config: json.RawMessage(`{"url":"https://u:hunter2@a.example/%zz"}`)})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v, want an error without the password", err)
	}
	for _, field := range []string{"password", "key", "ca", "cert"} {
		_, err := Builtin(Options{})["http"].New(define(t, object{"url": "https://a.example/", "user": "ann", field: "hunter2"}))
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want an error without the secret", field, err)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"ulr", "url", 2}, {"kitten", "sitting", 3}, {"statu", "status", 1}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// FuzzNew feeds any bytes as config to every type: an error or a runner, never a panic.
func FuzzNew(f *testing.F) {
	f.Add("http", []byte(`{"url":"https://a.example/","expect":{"json":{"a.b":[1]}}}`))
	f.Add("http", []byte(`{"url":[[]],"allow":[{}]}`))
	f.Add("host", []byte(`null`))
	f.Add("tail", []byte(`{"paths":["["],"match":"("}`))
	table := Builtin(Options{Witness: true, ExecAllow: []string{"/bin/true"}})
	f.Fuzz(func(t *testing.T, name string, config []byte) {
		typ, ok := table[name]
		if !ok {
			return
		}
		r, err := typ.New(work.Definition{Config: config})
		if err == nil && r == nil {
			t.Fatal("neither a runner nor an error")
		}
		var ce *work.ConfigError
		if err != nil && !errors.As(err, &ce) {
			t.Fatalf("%v is not a ConfigError", err)
		}
	})
}
