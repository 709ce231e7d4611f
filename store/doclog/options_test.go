package doclog

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

func TestBadOptions(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"a place of two segments": {Place: "a/b"},
		"a place that is no key":  {Place: "a b"},
		"a negative size":         {PartBytes: -1},
		"a negative number":       {Ahead: -3},
	} {
		if _, err := New(memory.New().Open(), o); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// bare are documents without any other ability.
type bare struct{ Docs }

type watched struct {
	Docs
	store.Watcher
}

type owned struct {
	Docs
	store.Sessions
}

// TestAbilities: a log has the abilities that its documents have, and no others.
func TestAbilities(t *testing.T) {
	t.Parallel()
	s := memory.New().Open()
	for _, c := range []struct {
		name              string
		docs              Docs
		watches, sessions bool
	}{{"bare", bare{s}, false, false}, {"watched", watched{s, s}, true, false}, {"with sessions", owned{s, s}, false, true}, {"all", s, true, true}} {
		l, err := New(c.docs, Options{})
		must.Succeed(t, err)
		_, watches := l.(store.Watcher)
		_, watchesLog := l.(store.LogWatcher)
		_, sessions := l.(store.Sessions)
		if watches != c.watches || watchesLog != c.watches || sessions != c.sessions {
			t.Errorf("%s: watches %v, watches the log %v, has sessions %v", c.name, watches, watchesLog, sessions)
		}
	}
}

// TestTheLogsKeys: nobody reaches the documents of the log by their keys.
func TestTheLogsKeys(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	s := onMemory(t)(t)
	if _, err := s.Append(ctx, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(ctx, store.Doc{Key: "#logs", Value: []byte("mine")}); err != nil {
		t.Errorf("a key that only begins alike: %v", err)
	}
	session, err := s.OpenSession(ctx, patience)
	must.Succeed(t, err)
	_, get := s.Get(ctx, "#log/meta")
	_, put := s.Put(ctx, store.Doc{Key: "#log"})
	_, list := s.List(ctx, "#log/e/")
	_, watch := s.Watch(ctx, "#log/")
	_, own := session.Put(ctx, store.Doc{Key: "#log/e/x"})
	for name, err := range map[string]error{
		"get": get, "put": put, "list": list, "watch": watch, "put with session": own, "delete": s.Delete(ctx, "#log/e/00000000000000000001", "1"),
	} {
		if err == nil {
			t.Errorf("%s of a document of the log: no error", name)
		}
	}
	docs, err := s.List(ctx, "")
	if err != nil || len(docs) != 1 || docs[0].Key != "#logs" {
		t.Errorf("list of all: %v, %v", docs, err)
	}
}
