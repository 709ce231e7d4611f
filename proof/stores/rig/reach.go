package rig

import (
	"testing"

	"github.com/rota-run/rota/store/storetest"
)

// Reach returns the ways to one store: directly, through all servers, and through the first one over a link that no other handle has. open opens a
// handle that the test closes.
func Reach[S any](servers []string, open func(t *testing.T, servers []string) S) storetest.Reach[S] {
	return storetest.Reach[S]{
		Direct: func(t *testing.T) S { return open(t, servers) },
		Through: func(t *testing.T) (S, storetest.Link) {
			link := Link(t, servers[0])
			return open(t, []string{link.Addr()}), link
		},
	}
}
