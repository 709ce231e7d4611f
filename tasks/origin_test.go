package tasks

import (
	"net/url"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// Secrets stay with the scheme too: a redirect from https to http would send them in the clear.
func TestSameOrigin(t *testing.T) {
	t.Parallel()
	first := must.Get(url.Parse("https://example.com/a"))(t)
	for text, want := range map[string]bool{
		"https://example.com/b": true, "http://example.com/a": false, "https://example.com:8443/a": false,
		"https://www.example.com/a": false,
	} {
		u := must.Get(url.Parse(text))(t)
		if got := sameOrigin(u, first); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}
