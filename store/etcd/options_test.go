package etcd_test

import (
	"testing"

	"github.com/rota-run/rota/internal/store/refusal"
	"github.com/rota-run/rota/store/etcd"
)

// TestBadOptions opens with options that are refused before any server is asked.
func TestBadOptions(t *testing.T) {
	t.Parallel()
	at := func(o etcd.Options, endpoints ...string) etcd.Options {
		o.Endpoints = endpoints
		return o
	}
	plain, here := etcd.Options{}, "127.0.0.1:1"
	refusal.All(t, etcd.Open, map[string]refusal.Case[etcd.Options]{
		"no endpoint":             refusal.Says(plain, nil, "no endpoint", "127.0.0.1:2379"),
		"password in an endpoint": refusal.Says(at(plain, "me:"+refusal.Secret+"@h:1"), nil, "endpoint 1", "host:port"),
		"endpoint with a scheme":  refusal.Says(at(plain, "http://h:1"), nil, "endpoint 1", "host:port"),
		"endpoint without host":   refusal.Says(at(plain, "a:1", ":2379"), nil, "endpoint 2", "host:port"),
		"bad prefix":              refusal.Says(at(etcd.Options{Prefix: "a b"}, here), nil, "prefix", "not allowed"),
		"user alone":              refusal.Says(at(etcd.Options{User: "me"}, here), nil, "give both"),
		"password alone":          refusal.Says(at(etcd.Options{Password: refusal.Secret}, here), nil, "give both"),
	})
}
