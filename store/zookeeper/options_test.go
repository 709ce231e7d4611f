package zookeeper

import (
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/store/refusal"
)

// TestOpenRefusesOptions gives options that Open refuses before it connects.
func TestOpenRefusesOptions(t *testing.T) {
	t.Parallel()
	cases := map[string]refusal.Case[Options]{
		"no server":  refusal.Says(Options{}, nil, "no server"),
		"a list":     refusal.Says(Options{Servers: []string{"a:b:c"}}, nil, "host:port"),
		"no host":    refusal.Says(Options{Servers: []string{":2181"}}, nil, "host:port"),
		"user alone": refusal.Says(Options{Servers: []string{"zk"}, User: "u"}, nil, "give both"),
		"a user with a :": refusal.Says(Options{Servers: []string{"zk"}, User: "u:v", Password: refusal.Secret}, nil,
			"colon"),
	}
	for path, part := range map[string]string{ // order-free: each is a test of its own
		"/": "a node of its own", "rota": `"/rota"`, "/a//b": "segment", "/a/../b": "segment",
		"/zookeeper/x":                 "for itself",
		"/" + strings.Repeat("p", 200): "at most 200",
	} {
		cases[path] = refusal.Says(Options{Servers: []string{"zk"}, Path: path}, nil, part)
	}
	refusal.All(t, Open, cases)
}
