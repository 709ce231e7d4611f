package etcd_test

import (
	"strings"
	"testing"

	"github.com/rota-run/rota/store/etcd"
)

// secret must not be in any error.
const secret = "correct-horse"

// TestBadOptions opens with options that are refused before any server is asked.
func TestBadOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*etcd.Options)
		want   []string
	}{
		"no endpoint":             {func(o *etcd.Options) { o.Endpoints = nil }, []string{"no endpoint", "127.0.0.1:2379"}},
		"password in an endpoint": {func(o *etcd.Options) { o.Endpoints = []string{"me:" + secret + "@h:1"} }, []string{"endpoint 1", "host:port"}},
		"endpoint with a scheme":  {func(o *etcd.Options) { o.Endpoints = []string{"http://h:1"} }, []string{"endpoint 1", "host:port"}},
		"endpoint without host":   {func(o *etcd.Options) { o.Endpoints = []string{"a:1", ":2379"} }, []string{"endpoint 2", "host:port"}},
		"bad prefix":              {func(o *etcd.Options) { o.Prefix = "a b" }, []string{"prefix", "not allowed"}},
		"user alone":              {func(o *etcd.Options) { o.User = "me" }, []string{"give both"}},
		"password alone":          {func(o *etcd.Options) { o.Password = secret }, []string{"give both"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := etcd.Options{Endpoints: []string{"127.0.0.1:1"}}
			c.change(&o)
			s, err := etcd.Open(t.Context(), o)
			if err == nil {
				s.Close()
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("error %q shows the password", err)
			}
		})
	}
}
