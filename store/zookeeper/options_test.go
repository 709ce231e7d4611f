package zookeeper

import (
	"strings"
	"testing"
)

// TestOpenRefusesOptions gives options that Open refuses before it connects.
func TestOpenRefusesOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    Options
		part string
	}{
		{Options{}, "no server"},
		{Options{Servers: []string{"a:b:c"}}, "host:port"},
		{Options{Servers: []string{":2181"}}, "host:port"},
		{Options{Servers: []string{"zk"}, Path: "/"}, "a node of its own"},
		{Options{Servers: []string{"zk"}, Path: "rota"}, `"/rota"`},
		{Options{Servers: []string{"zk"}, Path: "/a//b"}, "segment"},
		{Options{Servers: []string{"zk"}, Path: "/a/../b"}, "segment"},
		{Options{Servers: []string{"zk"}, Path: "/zookeeper/x"}, "for itself"},
		{Options{Servers: []string{"zk"}, Path: "/" + strings.Repeat("p", 200)}, "at most 200"},
		{Options{Servers: []string{"zk"}, User: "u"}, "give both"},
		{Options{Servers: []string{"zk"}, User: "u:v", Password: "hidden"}, "colon"},
	} {
		s, err := Open(t.Context(), c.o)
		if err == nil {
			s.Close()
			t.Errorf("open with %+v: no error", c.o)
			continue
		}
		if !strings.Contains(err.Error(), c.part) {
			t.Errorf("error %q does not say %q", err, c.part)
		}
		if c.o.Password != "" && strings.Contains(err.Error(), c.o.Password) {
			t.Errorf("error %q contains the password", err)
		}
	}
}
