package stores_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/stories"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/rotacmd/stores"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := "file:" + filepath.Join(t.TempDir(), "place")
	own := stores.Kind{Scheme: "mine", Example: "mine:x",
		Open: func(_ context.Context, p stores.Place) (store.Full, error) {
			if !strings.HasSuffix(p.URL, ":there") || p.Access != stores.Look || p.Beside != "-x" {
				t.Errorf("a store of one's own gets %+v", p)
			}
			return memory.New().Open(), nil
		}}
	replaced := own
	replaced.Scheme = "etcd"
	for _, access := range []stores.Access{stores.Look, stores.Change} {
		if st, err := stores.Open(t.Context(), "memory:", stores.Options{Access: access}); err == nil {
			t.Errorf("access %d to a store inside another process: %v", access, st)
		}
		if st, err := stores.Open(t.Context(), dir, stores.Options{Access: access}); st != nil ||
			!errors.Is(err, fs.ErrNotExist) {
			t.Errorf("access %d to a directory that is not there: %v, %v", access, st, err)
		}
	}
	for _, c := range []struct {
		url     string
		o       stores.Options
		written bool
	}{
		{"memory:", stores.Options{}, true},
		{dir, stores.Options{}, true},
		{dir, stores.Options{Access: stores.Change}, true},
		{dir, stores.Options{Access: stores.Look}, false},
		{"mine:there", stores.Options{Access: stores.Look, Beside: "-x", Kinds: []stores.Kind{own}}, true},
		{"etcd:there", stores.Options{Access: stores.Look, Beside: "-x", Kinds: []stores.Kind{replaced}}, true},
		{dir, stores.Options{Beside: "-beside"}, true},
	} {
		st, err := stores.Open(t.Context(), c.url, c.o)
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		_, err = st.Put(t.Context(), store.Doc{Key: "k" + string(rune('0'+c.o.Access)), Value: []byte("v")})
		if (err == nil) != c.written {
			t.Errorf("%s with access %d: written: %v", c.url, c.o.Access, err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
	for url, want := range map[string]string{"file:///x?shared=yes": "/x", "etcd://h/x": "", "file:x?wrong": ""} {
		if d, err := stores.Directory(url); d != want || (err != nil) != strings.HasSuffix(url, "wrong") {
			t.Errorf("the directory of %s is %q, %v", url, d, err)
		}
	}
	if _, err := os.Stat(strings.TrimPrefix(dir, "file:") + "-beside/rota.db"); err != nil {
		t.Error(err)
	}
}

// A wrong URL says what to write instead, before anything is connected, and no secret.
func TestWrongURLs(t *testing.T) {
	t.Parallel()
	for url, said := range stories.Rows(t, "testdata/wrong.txt") {
		_, err := stores.Open(t.Context(), url, stores.Options{})
		var wrong *stores.Error
		_, parameter := errors.AsType[*storeurl.ParameterError](err) // another URL would not help
		if !errors.As(err, &wrong) || parameter == (len(wrong.Instead) > 0) || !said.In(err.Error()) ||
			strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), "top") {
			t.Errorf("%s: got %v, want an Error with %q", url, err, said.Want)
		}
	}
	for url, ok := range map[string]bool{"memory:": true, "file:d": true, "etcd://127.0.0.1/x": true,
		"etcd://127.0.0.1/x?colour=red": false, "tape:1": false, "file:": false, "memory:x": false,
		"etcd://127.0.0.1/x?user=u&password=env:P": true} {
		getenv := func(name string) string { return map[string]string{"P": "p"}[name] }
		if err := stores.Check(url, stores.Options{Getenv: getenv}); (err == nil) != ok {
			t.Errorf("check of %s: %v", url, err)
		}
	}
}

// A server that does not answer is no fault of the URL.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	_, err := stores.Open(t.Context(), "etcd://127.0.0.1:1/x?timeout=200ms", stores.Options{Beside: "-b"})
	var away *stores.OpenError
	if !errors.As(err, &away) || away.Place != "etcd://127.0.0.1:1/x-b" || !errors.Is(err, store.ErrUnavailable) &&
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
