package tasks

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/work/stage"
	"github.com/rota-run/rota/work/worktest"
)

// authority signs certificates in tests.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	pair, _ := certificate(t, time.Now().AddDate(1, 0, 0))
	cert := must.Get(x509.ParseCertificate(pair.Certificate[0]))(t)
	return &authority{cert, pair.PrivateKey.(crypto.Signer)}
}

func (a *authority) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
}

// issue makes a certificate for 127.0.0.1 and localhost, for servers and clients, and its key.
func (a *authority) issue(t *testing.T, name string, end time.Time) (cert, key string) {
	t.Helper()
	k := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: end.AddDate(-1, 0, 0),
		NotAfter: end,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, &k.PublicKey, a.key)
	must.Succeed(t, err)
	private := must.Get(x509.MarshalPKCS8PrivateKey(k))(t)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// serveTLS serves with a certificate of a, and asks clients for theirs as auth says.
func (a *authority) serveTLS(t *testing.T, auth tls.ClientAuthType, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	cert, key := a.issue(t, "server", time.Now().AddDate(0, 1, 0))
	pair := must.Get(tls.X509KeyPair([]byte(cert), []byte(key)))(t)
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: auth, ClientCAs: pool}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that shall fail
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// kept are the files of the credentials of a check.
type kept struct{ ca, cert, key, password string }

func keep(t *testing.T, a, client *authority, end time.Time) kept {
	t.Helper()
	dir := t.TempDir()
	k := kept{filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"),
		filepath.Join(dir, "password")}
	cert, key := client.issue(t, "checker", end)
	for path, text := range map[string]string{k.ca: a.pem(), k.cert: cert, k.key: key, k.password: "hunter2\n"} {
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return k
}

// config is that of a check that shows all it has.
func (k kept) config(more object) object {
	out := object{"ca": "file:" + k.ca, "cert": "file:" + k.cert, "key": "file:" + k.key}
	for name, v := range more { // order-free: into a map
		out[name] = v
	}
	return out
}

// TestClientCertificates: a server that asks for a certificate gets it from each type that has one, and who has none,
// or that of another authority, is down.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	a, other := newAuthority(t), newAuthority(t)
	s := a.serveTLS(t, tls.RequireAndVerifyClientCert,
		func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1\n") })
	month := time.Now().AddDate(0, 1, 0)
	good, strange := keep(t, a, a, month), keep(t, a, other, month)
	for typ, target := range map[string]object{"http": {"url": s.URL}, "scrape": {"url": s.URL},
		"tls": {"addr": s.Listener.Addr().String()}} {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			h, err := round(t, local, typ, good.config(target))
			wantUp(t, h, typ, err)
			if days, want := h.LastValue(t, typ+".client_expiry_days"), time.Until(month).Hours()/24; days < want-0.5 ||
				days > want+0.5 {
				t.Errorf("the client certificate ends in %v days, want about %v", days, want)
			}
			h, err = round(t, local, typ, strange.config(target))
			wantDown(t, h, typ, "tls", err)
			if typ == "tls" {
				return // without a certificate it looks at that of the server alone
			}
			without := good.config(target)
			delete(without, "cert")
			delete(without, "key")
			h, err = round(t, local, typ, without)
			wantDown(t, h, typ, "tls", err)
		})
	}
}

// TestCATrustsNobodyElse: ca is in place of the authorities that are trusted otherwise.
func TestCATrustsNobodyElse(t *testing.T) {
	t.Parallel()
	a, other := newAuthority(t), newAuthority(t)
	s := a.serveTLS(t, tls.NoClientCert, func(http.ResponseWriter, *http.Request) {})
	o := local
	o.RootCAs = x509.NewCertPool()
	o.RootCAs.AddCert(a.cert)
	for typ, target := range map[string]object{"http": {"url": s.URL}, "tls": {"addr": s.Listener.Addr().String()}} {
		target["ca"] = other.pem() // the text itself: it is no secret
		h, err := round(t, o, typ, target)
		wantDown(t, h, typ, "tls", err)
		target["ca"] = other.pem() + a.pem()
		h, err = round(t, local, typ, target)
		wantUp(t, h, typ, err)
		bundle := filepath.Join(t.TempDir(), "bundle.pem") // as long as that of a system
		must.Succeed(t, os.WriteFile(bundle, []byte(strings.Repeat("#\n", maxSecret)+a.pem()), 0o600))
		target["ca"] = "file:" + bundle
		h, err = round(t, local, typ, target)
		wantUp(t, h, typ, err)
	}
}

// TestCredentialsStayAtTheirOrigin: what is for one origin goes neither to another port, nor to another name, nor over
// plain HTTP, nor back from there.
func TestCredentialsStayAtTheirOrigin(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	type visit struct{ shown, login bool }
	see := func(r *http.Request) visit {
		_, _, login := r.BasicAuth()
		return visit{r.TLS != nil && len(r.TLS.PeerCertificates) > 0, login}
	}
	type call struct {
		where string
		visit
	}
	calls := make(chan call, 20)
	var home *httptest.Server
	elsewhere := func(w http.ResponseWriter, r *http.Request) {
		calls <- call{"away", see(r)}
		if r.URL.Path == "/back" {
			http.Redirect(w, r, home.URL+"/end", http.StatusFound)
		}
	}
	port, plainHTTP := a.serveTLS(t, tls.RequestClientCert, elsewhere), serve(t, elsewhere)
	targets := map[string]string{"/port": port.URL, "/http": plainHTTP.URL, "/back": port.URL + "/back",
		"/stay": "/end"}
	home = a.serveTLS(t, tls.RequestClientCert, func(w http.ResponseWriter, r *http.Request) {
		where := "home"
		if r.Host != home.Listener.Addr().String() {
			where = "away"
		}
		calls <- call{where, see(r)}
		if r.Referer() != "" {
			t.Errorf("%s is told where it was asked from: %s", r.URL, r.Referer())
		}
		if to := targets[r.URL.Path]; to != "" {
			http.Redirect(w, r, to, http.StatusFound)
		}
	})
	targets["/name"] = strings.Replace(home.URL, "127.0.0.1", "localhost", 1) + "/end"
	k := keep(t, a, a, time.Now().AddDate(0, 1, 0))
	all, none := visit{true, true}, visit{}
	for path, want := range map[string][]call{
		"/port": {{"home", all}, {"away", none}}, "/http": {{"home", all}, {"away", none}},
		"/name": {{"home", all}, {"away", none}},
		"/back": {{"home", all}, {"away", none}, {"home", none}}, "/stay": {{"home", all}, {"home", all}},
	} {
		h, err := round(t, local, "http",
			k.config(object{"url": home.URL + path, "user": "ann", "password": "file:" + k.password}))
		wantUp(t, h, "http", err)
		for i, w := range want {
			if got := <-calls; got != w {
				t.Errorf("%s: request %d was %+v, want %+v", path, i+1, got, w)
			}
		}
	}
}

// TestCredentialsAreReadAgain: what is renewed is used in the next round of the same runner.
func TestCredentialsAreReadAgain(t *testing.T) {
	t.Parallel()
	a, other := newAuthority(t), newAuthority(t)
	var name, password string
	s := a.serveTLS(t, tls.RequireAnyClientCert, func(_ http.ResponseWriter, r *http.Request) {
		_, password, _ = r.BasicAuth()
		name = r.TLS.PeerCertificates[0].Subject.CommonName
	})
	k := keep(t, a, a, time.Now().AddDate(0, 1, 0))
	d := define(t, k.config(object{"url": s.URL, "user": "ann", "password": "file:" + k.password}))
	r := must.Get(Builtin(local)["http"].New(d))(t)
	g, h := worktest.NewGrant(t, d)
	wantUp(t, h, "http", r.Run(t.Context(), g))
	if name != "checker" || password != "hunter2" {
		t.Errorf("the server saw %q with %q", name, password)
	}
	cert, key := a.issue(t, "renewed", time.Now().AddDate(0, 2, 0))
	for path, text := range map[string]string{k.cert: cert, k.key: key, k.password: "other"} {
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	}
	wantUp(t, h, "http", r.Run(t.Context(), g))
	if name != "renewed" || password != "other" {
		t.Errorf("the server saw %q with %q, want what was renewed", name, password)
	}
	must.Succeed(t, os.WriteFile(k.ca, []byte(other.pem()), 0o600))
	wantDown(t, h, "http", "tls", r.Run(t.Context(), g))
}

// TestCredentialsThatCannotBeUsed: the error says which field is wrong and what to try, and nothing of a secret.
func TestCredentialsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	s := a.serveTLS(t, tls.RequestClientCert,
		func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") })
	_, foreign := a.issue(t, "other", time.Now().AddDate(0, 1, 0))
	for name, c := range map[string]struct {
		end   int // days
		file  func(k kept) string
		text  string // "" removes the file
		says  string
		login bool
	}{
		"no file": {30, func(k kept) string { return k.cert }, "", "config.cert: read secret file:", false},
		"no ca":   {30, func(k kept) string { return k.ca }, "", "config.ca: read secret file:", false},
		"empty ca": {30, func(k kept) string { return k.ca }, "hello",
			"there is no PEM certificate in it; try: PEM", false},
		"half a ca": {30, func(k kept) string { return k.ca }, a.pem() + strings.Replace(a.pem(), "M", "N", 1),
			"certificate 2 in it", false},
		"foreign key":  {30, func(k kept) string { return k.key }, foreign, "does not fit the certificate", false},
		"no key":       {30, func(k kept) string { return k.key }, "hunter2", "config.key: file:", false},
		"ended":        {-3, func(kept) string { return "" }, "", "the client certificate ended on ", false},
		"begins later": {500, func(kept) string { return "" }, "", "the client certificate begins on ", false},
		"no password":  {30, func(k kept) string { return k.password }, "", "config.password: read secret file:", true},
		"a long key": {30, func(k kept) string { return k.key }, strings.Repeat("hunter2", maxSecret), "longer than",
			false},
	} {
		k := keep(t, a, a, time.Now().AddDate(0, 0, c.end))
		if path := c.file(k); path != "" && c.text == "" {
			must.Succeed(t, os.Remove(path))
		} else if path != "" {
			must.Succeed(t, os.WriteFile(path, []byte(c.text), 0o600))
		}
		for typ, target := range map[string]object{"http": {"url": s.URL}, "scrape": {"url": s.URL},
			"tls": {"addr": s.Listener.Addr().String()}} {
			if c.login && typ == "tls" {
				continue
			}
			if typ != "tls" {
				target["user"], target["password"] = "ann", "file:"+k.password
			}
			h, err := round(t, local, typ, k.config(target))
			if err == nil || !strings.Contains(err.Error(), c.says) || !c.login &&
				!strings.Contains(err.Error(), "; try: ") {
				t.Errorf("%s, %s: got %v, want it to say %q and what to try", name, typ, err, c.says)
				continue
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "PRIVATE KEY-") {
				t.Errorf("%s: a secret is in %q", name, err)
			}
			if len(h.Named(typ+".up")) != 0 {
				t.Errorf("%s, %s: it says of the target what is wrong here", name, typ)
			}
		}
	}
}

// TestPostsWithCredentials: a flow hands its batches to a server that asks who comes.
func TestPostsWithCredentials(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	got := make(chan string, 1)
	s := a.serveTLS(t, tls.RequireAndVerifyClientCert, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		user, password, _ := r.BasicAuth()
		got <- string(body) + r.TLS.PeerCertificates[0].Subject.CommonName + user + password
	})
	k := keep(t, a, a, time.Now().AddDate(0, 1, 0))
	d := define(t, k.config(object{"url": s.URL, "user": "ann", "password": "file:" + k.password,
		"allow": []string{"127.0.0.0/8"}}))
	r := must.Get(Builtin(Options{})["http.post"].New(d))(t)
	g, h := worktest.NewGrant(t, d)
	must.Succeed(t, r.(stage.Stage).Do(t.Context(), g, [][]byte{[]byte("1"), []byte("2")}, nil))
	if text := <-got; text != "[1,2]checkerannhunter2" {
		t.Errorf("the server got %q", text)
	}
	if days := h.LastValue(t, "http.post.client_expiry_days"); days < 27 {
		t.Errorf("the client certificate ends in %v days", days)
	}
}
