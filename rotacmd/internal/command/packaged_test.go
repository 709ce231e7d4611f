package command

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/proof/must"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	settings := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"},
		{Key: "vcs.modified", Value: "true"}}
	if got := revisionOf("", settings); got != "0123456789ab+" {
		t.Error(got)
	}
	if got := revisionOf("feedfeedfeedfeed", settings); got != "feedfeedfeed" {
		t.Error(got)
	}
	if got := revisionOf("", nil); got != "" {
		t.Error(got)
	}
	out, _, code := here("", "version")
	if code != 0 || !strings.HasPrefix(out, "rota "+version+" (commit ") {
		t.Errorf("exit %d, %s", code, out)
	}
	if flag, _, code := here("", "--version"); code != 0 || flag != out {
		t.Errorf("--version: exit %d, %s", code, flag)
	}
}

// TestHealth asks servers that are ready, not ready, guarded by a token, and not there.
func TestHealth(t *testing.T) {
	ready := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/healthz":
			_, _ = w.Write([]byte("ok\n"))
		case r.Header.Get("Authorization") != "Bearer open":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":"no valid token"}`))
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"ready":false,"reasons":["the store is away"]}`))
		}
	})
	s, sealed := httptest.NewServer(ready), httptest.NewTLSServer(ready)
	defer s.Close()
	defer sealed.Close()
	cert := filepath.Join(t.TempDir(), "cert.pem")
	other := filepath.Join(t.TempDir(), "other.pem")
	must.Succeed(t, os.WriteFile(cert, pemOf(sealed.Certificate()), 0o600))
	must.Succeed(t, os.WriteFile(other, []byte("no certificate"), 0o600))
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	defer elsewhere.Close()
	gone := httptest.NewServer(ready)
	gone.Close()
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"health --live " + s.URL, exitOK, "ok"},
		{"health --live " + elsewhere.URL, exitFailed, "is not a member of that store"},
		{"health " + s.URL, exitFailed, "no valid token\ntry: --api-token"},
		{"health --api-token env:T " + s.URL, exitFailed, "not ready: the store is away"},
		{"health --live --tls-cert " + cert + " " + sealed.URL, exitOK, "ok"},
		{"health --live " + sealed.URL, exitFailed, "certificate"},
		{"health --live --tls-cert " + other + " " + sealed.URL, exitUsage, "PEM"},
		{"health " + gone.URL, exitFailed, "no answer from"},
		{"health --api-token hunter2 " + s.URL, exitUsage, "env:NAME"},
		{"health --api-token env:T http://192.0.2.1:7600", exitUsage,
			"will not send the token to http://192.0.2.1:7600: plain HTTP shows it to the network\ntry: https://192.0.2.1:7600"},
		{"health http://me:hunter2@192.0.2.1:7600", exitUsage, "will not send the token to http://192.0.2.1:7600"},
		{"health --api-token env:T http://127.0.0.1.example.com:7600", exitUsage, "will not send the token to"},
	} {
		out, errs, code := with(map[string]string{"T": "open"}, "", strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out+errs, c.want) || strings.Contains(out+errs, "hunter2") {
			t.Errorf("%s: exit %d, want %d and %q:\n%s%s", c.args, code, c.code, c.want, out, errs)
		}
	}
}

// TestHealthKeepsItsTokenToItself: where the server of an address leads on, the token stays.
func TestHealthKeepsItsTokenToItself(t *testing.T) {
	trap := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("it has got %q", r.Header.Get("Authorization"))
	}))
	defer trap.Close()
	leads := httptest.NewServer(http.RedirectHandler(trap.URL, http.StatusTemporaryRedirect))
	defer leads.Close()
	_, errs, code := with(map[string]string{"T": "open"}, "", "health", "--api-token", "env:T", leads.URL)
	if code != exitFailed || !strings.Contains(errs, "not ready: it answers 307 Temporary Redirect") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// TestHealthOfAnotherCluster: a member of another cluster that has taken the port does not pass for one that is down. A
// probe for life hears nothing of it, nor of what is no member, and needs no token.
func TestHealthOfAnotherCluster(t *testing.T) {
	p := newPlace(t)
	must.Succeed(t, os.Symlink("tasks", "link"))
	s := httptest.NewServer(api.Handler(api.Config{Member: "m", Store: "hidden", Place: placeOf("file:./tasks"),
		Token: "secret"}))
	defer s.Close()
	anything := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok\n"))
	}))
	defer anything.Close()
	const token, live, here = "health --api-token env:T ", "health --live ", "--store file:./tasks "
	for _, c := range []struct {
		args, store string
		code        int
		want        string
	}{
		{token + s.URL, "", exitOK, "ok: member m of file:" + p.dir},
		{token + "--member m --store file:link " + s.URL, "", exitOK, "ok"},
		{token + s.URL, "file:./tasks", exitOK, "ok"},
		{token + s.URL, "file:other", exitFailed, "is member m of file:" + p.dir},
		{token + "--member n " + s.URL, "", exitFailed, ", not n of that store\ntry: the address that the member"},
		{token + "--store etcd://a/x " + s.URL, "", exitFailed, "not a member of etcd://a/x"},
		{token + anything.URL, "", exitFailed, "it answers 200 OK"},
		{live + s.URL, "", exitOK, "ok\n"},
		{live + here + s.URL, "", exitOK, "ok\n"},
		{live + here + "--member m " + s.URL, "", exitOK, "ok\n"},
		{live + anything.URL, "", exitOK, "ok\n"},
		{live + s.URL, "file:other", exitFailed, "what answers at " + s.URL +
			"/healthz is not a member of file:" + p.dir + "/other"},
		{live + "--member n " + s.URL, "", exitFailed, "is not n of that store"},
		{live + here + "--member n " + s.URL, "", exitFailed, "is not n of file:" + p.dir},
		{live + here + "--member m " + anything.URL, "", exitFailed, "is not m of file:" + p.dir},
	} {
		out, errs, code := with(map[string]string{"ROTA_STORE": c.store, "T": "secret"}, "", strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out+errs, c.want) || strings.Contains(out+errs, "hidden") {
			t.Errorf("%s, %s: exit %d, want %d and %q:\n%s%s", c.args, c.store, code, c.code, c.want,
				out, errs)
		}
	}
	if a, b := placeOf("etcd://me@b:1,a:2/x?tls=on"), placeOf("etcd://a:2,b:1/x"); a != b ||
		a == placeOf("etcd://a:2,b:1/y") {
		t.Errorf("places %s, %s", a, b)
	}
}

// TestManual has a page for each command, with each of its flags.
func TestManual(t *testing.T) {
	dir := t.TempDir()
	if _, errs, code := here("", "man", "--dir", dir); code != 0 {
		t.Fatal(errs)
	}
	root := newRoot(env{getenv: func(string) string { return "" }})
	pages := 0
	for _, c := range everyCommand(root) {
		if c.Hidden {
			continue
		}
		b := must.Get(os.ReadFile(filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")))(t)
		pages++
		for _, line := range strings.Split(strings.TrimSpace(c.Flags().FlagUsages()), "\n") {
			_, name, _ := strings.Cut(line, "--")
			name, _, _ = strings.Cut(name, " ")
			if name != "" && !strings.Contains(string(b), strings.ReplaceAll("--"+name, "-", `\-`)) {
				t.Errorf("%s: the page has no --%s", c.CommandPath(), name)
			}
		}
	}
	if pages < 30 {
		t.Errorf("%d pages", pages)
	}
	if _, errs, code := here("", "man", "rnu"); code != exitUsage || !strings.Contains(errs, "try: ") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// TestASimulatedFault: what comes before it is told.
func TestASimulatedFault(t *testing.T) {
	t.Parallel()
	out, errs, code := here("join a\n\nsubmt x\n", "simulate", "-o", "json")
	if code != exitUsage || strings.Count(out, "\n") != 1 || !containsAll(errs, []string{"line 3", "try: one of join"}) {
		t.Errorf("exit %d\n%s\n%s", code, out, errs)
	}
}

// TestCompletionKnows what a shell asks for: commands, and the values of flags.
func TestCompletionKnows(t *testing.T) {
	for args, want := range map[string]string{
		"__complete member dr": "drain", "__complete run --protocol l": "lease",
		"__complete task list --state ow": "owner-silent", "__complete run --log-level w": "warn",
		"__complete status --store zoo": "postgres://\n:6", "__complete completion f": "fish",
		"__complete run --publish n": "none", "completion zsh": "#compdef rota", "completion powershell": "Register-Argument",
		"__complete store c": "check",
	} {
		if out, _, code := here("", strings.Fields(args)...); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d, want %s in %q", args, code, want, out)
		}
	}
	if _, errs, code := here("", "completion", "fisch"); code != exitUsage ||
		!strings.Contains(errs, "try: rota completion fish") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

func pemOf(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}
