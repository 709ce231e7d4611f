package api_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/proof/must"
)

func userLine(name, role, token string) string {
	return fmt.Sprintf("%s %s sha256:%x\n", name, role, sha256.Sum256([]byte(token)))
}

func bearer(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

// TestUsers: who reads may look, who operates may also change, and the cluster and the journal hear who it was.
func TestUsers(t *testing.T) {
	t.Parallel()
	a := &acting{answer: cluster.Result{Accepted: true}}
	c := a.config(t)
	var err error
	c.Users, err = api.ParseUsers(userLine("eve", "read", "r") + userLine("ann", "operate", "o"))
	must.Succeed(t, err)
	for _, both := range []bool{true, false} { // with and without the token that has no name
		nameless := 200
		if !both {
			c.Token, nameless = "", 401
		}
		for _, x := range []struct {
			token     string
			get, post int
			by        string
		}{
			{"r", 200, 403, ""}, {"o", 200, 200, "ann (API of a)"}, {"x", 401, 401, ""}, {"", 401, 401, ""},
			{"secret", nameless, nameless, "API of a"},
			{strings.TrimSpace(strings.SplitN(userLine("", "", "o"), "sha256:", 2)[1]), 401, 401, ""}, // a hash is no token
		} {
			if r := request(c, "GET", "/v1/members", bearer(x.token)); r.StatusCode != x.get {
				t.Errorf("GET by %q: %s, want %d", x.token, r.Status, x.get)
			}
			for _, path := range []string{"/v1/pause?job=etl", "/v1/configure?retention=5", "/v1/submit?job=etl",
				"/v1/rebalance"} {
				if x.post == 200 && strings.Contains(path, "submit") {
					continue // it would wait for a job that this cluster never has
				}
				a.said, a.recorded = nil, nil
				r := request(c, "POST", path, bearer(x.token))
				got := body(t, r)
				if x.post != 200 && (r.StatusCode != x.post || a.said != nil || a.recorded != nil) {
					t.Errorf("POST %s by %q: %s %s, the cluster was told %q, %v", path, x.token, r.Status, got, a.said,
						a.recorded)
				}
				if x.post == 403 && !strings.Contains(got, "the token of eve only reads") {
					t.Errorf("%s", got)
				}
				if x.post == 200 && (r.StatusCode != http.StatusOK || len(a.recorded) != 1 ||
					a.recorded[0].By != x.by) {
					t.Errorf("POST %s by %q: %s %s, %v, want it by %s", path, x.token, r.Status, got, a.recorded, x.by)
				}
			}
		}
	}
}

// TestUserFiles: a file that others may read or change is refused, and no error repeats its text.
func TestUserFiles(t *testing.T) {
	t.Parallel()
	good := userLine("ann", "operate", "o")
	hash := strings.TrimSpace(strings.Split(good, "sha256:")[1])
	for _, x := range []struct {
		text, want string
		mode       os.FileMode
	}{
		{"# people\n\n  " + good + userLine("ann", "operate", "next"), "", 0o600},
		{good, "", 0o440}, {"\ufeff# people\r\n" + good, "", 0o600},
		{good, "mode 0604", 0o604}, {good, "mode 0620", 0o620}, {good, "mode 0644", 0o644},
		{"", "names no user", 0o600}, {"# ann\n", "names no user", 0o600},
		{good + strings.Repeat("#\n", 1<<19), "more than 1048576 bytes", 0o600},
		{"ann operate", "line 1: it has 2 words, want NAME ROLE sha256:HEX", 0o600},
		{"\nann admin sha256:" + hash, "line 2: the second word", 0o600},
		{"a:b read sha256:" + hash, "line 1: the first word", 0o600},
		{"ann read " + hash, "line 1: the third word", 0o600},
		{"ann read sha256:" + hash[2:], "line 1: the third word", 0o600},
		{"ann read sha256:" + hash + "00", "line 1: the third word", 0o600},
		{"ann read s3cret-in-plain", "line 1: the third word", 0o600},
		{userLine("ann", "read", ""), "empty token", 0o600},
		{good + userLine("bob", "read", "o"), "line 2: the token is that of line 1", 0o600},
	} {
		path := filepath.Join(t.TempDir(), "users")
		must.Succeed(t, os.WriteFile(path, []byte(x.text), 0o600))
		must.Succeed(t, os.Chmod(path, x.mode))
		_, err := api.ReadUsers(path)
		if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("%q %o: %v, want %q", x.text, x.mode, err, x.want)
		}
		if err != nil && (strings.Contains(err.Error(), hash[2:]) || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("it says a secret: %v", err)
		}
	}
}

// FuzzParseUsers: what is taken is a name, a role and a hash on a line of its own, and is taken again as it is shown.
func FuzzParseUsers(f *testing.F) {
	f.Add(userLine("ann", "operate", "o") + "# x\n" + userLine("eve", "read", "r"))
	f.Add("ann read sha256:zz")
	f.Fuzz(func(t *testing.T, text string) {
		users, err := api.ParseUsers(text)
		if err != nil {
			return
		}
		var again strings.Builder
		for _, u := range users {
			fmt.Fprintf(&again, "%s %s sha256:%x\n", u.Name, u.Role, u.Hash)
		}
		if got, err := api.ParseUsers(again.String()); err != nil || !slices.Equal(got, users) {
			t.Fatalf("%v, %v; want %v", got, err, users)
		}
	})
}
