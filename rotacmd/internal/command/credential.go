package command

import (
	"net/http"

	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
)

// authorize adds the token that ref names, if any, to a request. It is the only way by which a command sends a
// credential, and it decides whether one may go to an address: over TLS, or to this machine. The caller has the address
// from the operator, never from what stands in a store: see decision 82.
func authorize(r *http.Request, ref string, getenv func(string) string) error {
	if (ref != "" || r.URL.User != nil) && r.URL.Scheme != "https" && !api.Loopback(r.URL.Hostname()) {
		return misused("https://"+r.URL.Host+", or http://"+api.DefaultAddress+" on the member's own machine",
			"will not send the token to %s://%s: plain HTTP shows it to the network", r.URL.Scheme, r.URL.Host)
	}
	if ref == "" {
		return nil
	}
	token, err := storeurl.Secret(ref, getenv)
	if err != nil {
		return misused("--api-token env:NAME", "api-token: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return nil
}

// stay follows no redirect: a token goes to the address that the operator typed, and to no other.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
