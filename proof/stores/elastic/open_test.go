package elastic_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/elastic"
)

// rest sends a request to a server and returns its status and answer.
func rest(t testing.TB, servers []string, method, path, body string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(rig.Deadline(t), method, "http://"+servers[0]+path, strings.NewReader(body))
	must.Succeed(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Close = true
	resp := must.Get(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	text := must.Get(io.ReadAll(resp.Body))(t)
	return resp.StatusCode, text
}

// sets is rest for what must succeed.
func sets(t testing.TB, servers []string, method, path, body string) {
	t.Helper()
	if status, text := rest(t, servers, method, path, body); status != http.StatusOK {
		t.Fatalf("%s %s: status %d: %s", method, path, status, text)
	}
}

// saying is a server that gives each request one answer.
func saying(t *testing.T, status int, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// guarded is a server with TLS, in front of another one, which lets in whom it knows.
func guarded(t *testing.T, behind string) *httptest.Server {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if r.Header.Get("Authorization") != "ApiKey "+rig.Secret && (user != "alice" || password != rig.Secret) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w,
				`{"error":{"type":"security_exception","reason":"unable to authenticate"},"status":401}`)
			return
		}
		if user == "alice" && r.Method != http.MethodGet && strings.HasSuffix(r.URL.Path, "-forbidden") {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w,
				`{"error":{"type":"security_exception","reason":"action [indices:admin/create] is unauthorized"},"status":403}`)
			return
		}
		httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: behind}).ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// trusting trusts the certificate of a server.
func trusting(s *httptest.Server) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func TestOpenErrors(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		o := s.options(t)
		front := guarded(t, o.Servers[0])
		with := rig.With(o)
		at := func(server string) elastic.Options {
			o := o
			o.Servers = []string{server}
			return o
		}
		answering := func(status int, body string) elastic.Options { return at(saying(t, status, body)) }
		as := func(user, password, key string) elastic.Options {
			o := o
			behind(&o, front)
			o.User, o.Password, o.APIKey = user, password, key
			return o
		}
		untrusting := &tls.Config{MinVersion: tls.VersionTLS12}
		const login = "check user and password, or the API key"
		rig.Refusals(t, elastic.Open, map[string]rig.Refusal[elastic.Options]{
			"nobody listens": rig.Says(at(rig.Nobody(t)), nil, "connection refused",
				"check that Elasticsearch or OpenSearch runs"),
			"nobody answers": rig.Says(with(func(o *elastic.Options) {
				o.Servers, o.Timeout = []string{rig.Silent(t)}, time.Second
			}), nil, "no answer within 1s", "most of its nodes"),
			"a web server": rig.Says(answering(404, "<html>"), nil, "not Elasticsearch or OpenSearch",
				"check the port"),
			"another API": rig.Says(answering(200, `{"hello":1}`), nil, "not Elasticsearch or OpenSearch"),
			"old Elasticsearch": rig.Says(answering(200, `{"version":{"number":"7.17.29"}}`), nil,
				"Elasticsearch 7.17.29", "at least 8.0"),
			"old OpenSearch": rig.Says(answering(200, `{"version":{"number":"1.3.0","distribution":"opensearch"}}`),
				nil, "OpenSearch 1.3.0", "at least 2.0"),
			"TLS to plain text": rig.Says(with(func(o *elastic.Options) { o.TLS = untrusting }), nil,
				"leave TLS out"),
			"plain text to TLS": rig.Says(at(front.Listener.Addr().String()), nil,
				"not Elasticsearch or OpenSearch"),
			"unknown authority": rig.Says(with(func(o *elastic.Options) {
				behind(o, front)
				o.TLS = untrusting
			}), nil, "give the certificate of the authority"),
			"no user":        rig.Says(as("", "", ""), nil, "401", login),
			"wrong password": rig.Says(as("alice", rig.Secret+"!", ""), nil, login),
			"wrong API key":  rig.Says(as("", "", rig.Secret+"!"), nil, login),
			"no right to make it": rig.Says(with(func(o *elastic.Options) {
				behind(o, front)
				o.User, o.Password, o.Index = "alice", rig.Secret, o.Index+"-forbidden"
			}), nil, "403", "grant"),
			"observed": rig.Says(with(func(o *elastic.Options) { o.ReadOnly = true }), store.ErrNotFound,
				"there is no index"),
			"must exist": rig.Says(with(func(o *elastic.Options) { o.MustExist = true }), store.ErrNotFound,
				"there is no index", "not found"),
			"bad index": rig.Says(with(func(o *elastic.Options) { o.Index = "Weather" }), nil, "small letters"),
			"two ways to log in": rig.Says(with(func(o *elastic.Options) {
				o.APIKey, o.User, o.Password = rig.Secret, "alice", rig.Secret
			}), nil, "give one of them"),
		})
	})
}

func TestOpenCancelled(t *testing.T) {
	rig.Cancelled(t, elastic.Open, elastic.Options{Servers: []string{rig.Silent(t)}})
}

// behind goes to a server with TLS.
func behind(o *elastic.Options, front *httptest.Server) {
	o.Servers, o.TLS = []string{front.Listener.Addr().String()}, trusting(front)
}

func TestOpenWithTLS(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		o := s.options(t)
		behind(&o, guarded(t, o.Servers[0]))
		byKey, byUser := o, o
		byKey.APIKey = rig.Secret
		byUser.User, byUser.Password = "alice", rig.Secret
		v := must.Get(openWith(t, byKey).Put(rig.Deadline(t), store.Doc{Key: "a", Value: []byte("x")}))(t)
		if d, err := openWith(t, byUser).Get(rig.Deadline(t), "a"); err != nil || d.Version != v {
			t.Errorf("get: %+v, %v", d, err)
		}
	})
}

// mapping is what a store's index has, as the server says it.
func mapping(t *testing.T, o elastic.Options) string {
	t.Helper()
	openWith(t, o)
	_, text := rest(t, o.Servers, "GET", "/"+o.Index+"/_mapping", "")
	var found map[string]struct {
		Mappings json.RawMessage `json:"mappings"`
	}
	must.Succeed(t, json.Unmarshal(text, &found))
	return string(found[o.Index].Mappings)
}

// TestIndexesThatAreNoStore: each has its own error, and nothing is written to it.
func TestIndexesThatAreNoStore(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		ours := mapping(t, s.options(t))
		for name, c := range map[string]struct {
			body string
			want []string
		}{
			"of something else": {`{"mappings":{"properties":{"message":{"type":"text"}}}}`,
				[]string{"the mapping of something else", "another index"}},
			"two shards": {`{"settings":{"number_of_shards":2},"mappings":` + ours + `}`,
				[]string{"2 primary shards", "exactly 1"}},
			"a field missing": {`{"mappings":` + strings.Replace(ours, `"bytes":{"type":"binary"},`, "", 1) + `}`,
				[]string{"wrong mapping", "bytes"}},
			"another type": {`{"mappings":` + strings.Replace(ours, `"bytes":{"type":"binary"}`,
				`"bytes":{"type":"keyword"}`, 1) + `}`, []string{"wrong mapping", "keyword"}},
			"open to all": {`{"mappings":` + strings.Replace(ours, `"strict"`, `"true"`, 1) + `}`,
				[]string{"wrong mapping"}},
			"newer": {`{"mappings":` + strings.Replace(ours, `"rota":2`, `"rota":3`, 1) + `}`,
				[]string{"format 3", "newer version"}},
			"older": {`{"mappings":` + strings.Replace(ours, `"rota":2`, `"rota":1`, 1) + `}`,
				[]string{"format 1", "another index", "submit the jobs again"}},
			"not on disk": {`{"settings":{"index.translog.durability":"async"},"mappings":` + ours + `}`,
				[]string{"before they are on disk"}},
			"flood stage": {`{"settings":{"index.blocks.read_only_allow_delete":true},"mappings":` + ours + `}`,
				[]string{"read-only", "free space"}},
			"blocked": {`{"settings":{"index.blocks.write":true},"mappings":` + ours + `}`,
				[]string{"blocked", "index.blocks.write"}},
			"red": {`{"settings":{"index.routing.allocation.require._name":"nowhere"},"mappings":` +
				ours + `}`, []string{"is red", "start the missing nodes"}},
		} {
			t.Run(name, func(t *testing.T) {
				o := s.options(t)
				o.Timeout = 2 * time.Second
				sets(t, o.Servers, "PUT", "/"+o.Index+"?wait_for_active_shards=0", c.body)
				rig.Refused(t, elastic.Open, o, nil, c.want...)
			})
		}
		t.Run("an alias", func(t *testing.T) {
			o := s.options(t)
			openWith(t, o)
			sets(t, o.Servers, "PUT", "/"+o.Index+"/_alias/"+o.Index+"-alias", "")
			o.Index += "-alias"
			rig.Refused(t, elastic.Open, o, nil, "alias")
		})
	})
}

// TestBlockedWhileOpen: a disk that is full blocks an index under its users. Reads go on; a write was not done, and
// says what to do.
func TestBlockedWhileOpen(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		o := s.options(t)
		h, ctx := openWith(t, o), rig.Deadline(t)
		v, err := h.Put(ctx, store.Doc{Key: "a", Value: []byte("x")})
		must.Succeed(t, err)
		sets(t, o.Servers, "PUT", "/"+o.Index+"/_settings", `{"index.blocks.read_only_allow_delete":true}`)
		_, err = h.Put(ctx, store.Doc{Key: "b"})
		if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) ||
			!strings.Contains(err.Error(), "flood stage") {
			t.Errorf("put: %v", err)
		}
		if d, err := h.Get(ctx, "a"); err != nil || d.Version != v {
			t.Errorf("get: %+v, %v", d, err)
		}
		sets(t, o.Servers, "PUT", "/"+o.Index+"/_settings", `{"index.blocks.read_only_allow_delete":null}`)
		if _, err := h.Put(ctx, store.Doc{Key: "b"}); err != nil {
			t.Errorf("put after it was unblocked: %v", err)
		}
	})
}

// TestIndexRemoved: a read says so, and is no "not found" that somebody might take for an empty store.
func TestIndexRemoved(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		o := s.options(t)
		h := openWith(t, o)
		drop(t, o.Servers, o.Index)
		if _, err := h.Get(rig.Deadline(t), "a"); errors.Is(err, store.ErrNotFound) || err == nil ||
			!strings.Contains(err.Error(), "the index was removed") {
			t.Errorf("get: %v", err)
		}
	})
}

// TestDocumentsAreReadable: a value that is a JSON object is one in the index, byte by byte; whatever it is, it comes
// back as it was.
func TestDocumentsAreReadable(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		o := s.options(t)
		h, ctx := openWith(t, o), rig.Deadline(t)
		values := []string{
			`{"holder":"a","expire":1.50e3,"b<c>&":"é\u2028"}`, `{"a":1,"a":2}`, `{ "spaced": 1 }`, `{}`,
			`{"a":"` + "\u2028" + `"}`, `[1]`, `"text"`, "\x00\xff", "", "{not json",
			`{"deep":` + strings.Repeat(`[`, 50) + strings.Repeat(`]`, 50) + `}`, `{"":1}`, `{"a.b":{"..":1}}`,
		}
		for i, value := range values {
			key := fmt.Sprint("k/", i)
			v, err := h.Put(ctx, store.Doc{Key: key, Value: []byte(value)})
			if err != nil {
				t.Errorf("put %q: %v", value, err)
				continue
			}
			if d, err := h.Get(ctx, key); err != nil || !bytes.Equal(d.Value, []byte(value)) || d.Version != v {
				t.Errorf("%q came back as %q at %q, %v; want %q", value, d.Value, d.Version, err, v)
			}
		}
		_, text := rest(t, o.Servers, "GET", "/"+o.Index+"/_doc/k%2F0", "")
		if !bytes.Contains(text, []byte(`"value":`+values[0])) {
			t.Errorf("a user sees %s", text)
		}
	})
}

// TestForeignDocument: what somebody else wrote into a document is found, and not taken for a value.
func TestForeignDocument(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		o := s.options(t)
		h, ctx := openWith(t, o), rig.Deadline(t)
		for name, body := range map[string]string{"half": `{"key":"half"}`,
			"other": `{"key":"other","value":{"a":1},"sum":5,"by":"x"}`,
			"moved": `{"key":"elsewhere","bytes":"","sum":0,"by":"x"}`} {
			if status, text := rest(t, o.Servers, "PUT", "/"+o.Index+"/_doc/"+name,
				body); status != http.StatusCreated {
				t.Fatalf("status %d: %s", status, text)
			}
			if _, err := h.Get(ctx, name); !errors.Is(err, elastic.ErrDamaged) {
				t.Errorf("%s: %v, want ErrDamaged", name, err)
			}
		}
	})
}
