package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/store"
)

// Docs is the suite of store.Docs.
func Docs[S store.Docs](t *testing.T, open Open[S]) {
	runRules(t, open, refusing(docsRefuse, docsRules...)...)
}

// putter is a store, or a session on one.
type putter interface {
	Put(ctx context.Context, d store.Doc) (store.Version, error)
}

func (t *test) put(s putter, key, value string, v store.Version) store.Version {
	t.Helper()
	got, err := s.Put(t.ctx, store.Doc{Key: key, Value: []byte(value), Version: v})
	if err != nil || got == "" || got == v {
		t.Fatalf("put %q at %q: version %q, %v; want a new one", key, v, got, err)
	}
	return got
}

// doc wants a document to be so.
func (t *test) doc(s store.Docs, key, value string, v store.Version) {
	t.Helper()
	got, err := s.Get(t.ctx, key)
	if err != nil || got.Key != key || string(got.Value) != value || got.Version != v {
		t.Fatalf("get %q = %q %q at %q, %v; want %q at %q", key, got.Key, got.Value, got.Version, err, value, v)
	}
}

// none wants a document not to be there.
func (t *test) none(s store.Docs, key, after string) {
	t.Helper()
	t.fails(fmt.Sprintf("get %q after %s", key, after), errOf(s.Get(t.ctx, key)), store.ErrNotFound)
}

// conflict wants a put to be refused.
func (t *test) conflict(what string, s putter, key string, v store.Version) {
	t.Helper()
	t.fails(what, errOf(s.Put(t.ctx, store.Doc{Key: key, Value: []byte("stale"), Version: v})), store.ErrConflict)
}

// listed lists until the keys are as wanted, since List may lag.
func (t *test) listed(s store.Docs, prefix string, want ...string) (docs []store.Doc) {
	t.Helper()
	t.await(fmt.Sprintf("list %q has %q", prefix, want), func() bool {
		var err error
		docs, err = s.List(t.ctx, prefix)
		t.succeed("list", err)
		return slices.EqualFunc(docs, want, func(d store.Doc, key string) bool { return d.Key == key })
	})
	return docs
}

var docsRules = []rule[store.Docs]{
	{"round trip", func(t *test, open func() store.Docs) {
		a, b := open(), open()
		all := map[string][]string{"a/b": {"one", "", "two", "two"}}
		all[strings.Repeat("k", store.MaxKey)] = []string{strings.Repeat("x", 100<<10)}
		for key, values := range all { // order-free: they are apart
			v := store.Version("")
			for _, value := range values {
				v = t.put(a, key, value, v)
				t.doc(b, key, value, v)
				a, b = b, a
			}
		}
		v, err := a.Put(t.ctx, store.Doc{Key: "nil"})
		t.succeed("put of a nil value", err)
		t.doc(b, "nil", "", v)
	}},
	{"stale changes refused", func(t *test, open func() store.Docs) {
		s := open()
		t.none(s, "b", "nothing")
		v1 := t.put(s, "a", "one", "")
		t.fails("delete of another", s.Delete(t.ctx, "b", v1), store.ErrNotFound)
		t.conflict("update of what is not there", s, "b", v1)
		v2 := t.put(s, "a", "two", v1)
		for _, v := range []store.Version{v1, "", "no-version-of-ours"} {
			t.conflict(fmt.Sprintf("put at %q", v), s, "a", v)
			t.fails(fmt.Sprintf("delete at %q", v), s.Delete(t.ctx, "a", v), store.ErrConflict)
		}
		t.doc(s, "a", "two", v2)
		t.succeed("delete", s.Delete(t.ctx, "a", v2))
		t.none(s, "a", "delete")
		t.fails("second delete", s.Delete(t.ctx, "a", v2), store.ErrNotFound)
	}},
	{"version never comes back", func(t *test, open func() store.Docs) {
		s, seen := open(), map[store.Version]bool{}
		for range 5 {
			v := store.Version("")
			for range 2 {
				if v = t.put(s, "a", "same", v); seen[v] {
					t.Fatalf("version %q came back after a delete; seen before: %v", v, seen)
				}
				seen[v] = true
			}
			t.succeed("delete", s.Delete(t.ctx, "a", v))
			t.conflict("put at a deleted version", s, "a", v)
		}
	}},
	{"one of many wins", func(t *test, open func() store.Docs) { // who create at once, and then update
		h, handles := newHistory(true), make([]store.Docs, 8)
		for i := range handles {
			handles[i] = open()
		}
		for round := range 10 {
			in := docsInput{op: "get", key: fmt.Sprintf("lock/%d", round/2)}
			in.version, in.op = h.see(t, handles[0], in).version, "put"
			together(handles, func(i int, s store.Docs) {
				in := in
				in.doc = fmt.Sprint(i)
				h.docsDo(t.ctx, i, s, s, in)
			})
		}
		h.checkDocs(t, handles[0])
	}},
	{"caller keeps its bytes", func(t *test, open func() store.Docs) {
		s, value := open(), []byte("mine")
		v, err := s.Put(t.ctx, store.Doc{Key: "a", Value: value})
		t.succeed("put", err)
		copy(value, "XXXX")
		t.doc(s, "a", "mine", v)
		got, _ := s.Get(t.ctx, "a")
		copy(got.Value, "YYYY")
		t.doc(s, "a", "mine", v)
		if listed, err := s.List(t.ctx, ""); err == nil && len(listed) == 1 {
			copy(listed[0].Value, "ZZZZ")
		}
		t.doc(s, "a", "mine", v)
	}},
	{"list", func(t *test, open func() store.Docs) {
		s, want := open(), map[string]store.Version{}
		for _, key := range []string{"b/2", "a", "b/10", "b/1/x", "b-/1", "b", "b0/1", "b/1", "c/1", "b/@=:#-_.9Z"} {
			want[key] = t.put(s, key, "value of "+key, "")
		}
		for prefix, keys := range map[string][]string{
			"b/": {"b/1", "b/1/x", "b/10", "b/2", "b/@=:#-_.9Z"}, "b/1/": {"b/1/x"}, "none/": nil,
			"": {"a", "b", "b-/1", "b/1", "b/1/x", "b/10", "b/2", "b/@=:#-_.9Z", "b0/1", "c/1"},
		} {
			for _, d := range t.listed(s, prefix, keys...) {
				if d.Version != want[d.Key] || string(d.Value) != "value of "+d.Key {
					t.Errorf("list %q has %q at %q for key %q, want version %q", prefix, d.Value, d.Version, d.Key,
						want[d.Key])
				}
			}
		}
	}},
	{"refreshed list", func(t *test, open func() store.Docs) {
		s := open()
		r, ok := s.(store.Refresher)
		if !ok {
			t.Skipf("%T is no store.Refresher: its lists are not stale", s)
		}
		for i := range 5 {
			key := fmt.Sprintf("fresh/%d", i)
			t.put(s, key, "", "")
			t.succeed("refresh", r.Refresh(t.ctx))
			docs, err := s.List(t.ctx, "fresh/")
			if err != nil || len(docs) != i+1 || docs[i].Key != key {
				t.Fatalf("list after the refresh: %d documents, %v; want %d", len(docs), err, i+1)
			}
		}
	}},
	{"bad keys", func(t *test, open func() store.Docs) {
		s := open()
		for _, key := range []string{"", "/a", "a/", "a//b", "a b", "ä", strings.Repeat("k", store.MaxKey+1)} {
			get, put := errOf(s.Get(t.ctx, key)), errOf(s.Put(t.ctx, store.Doc{Key: key}))
			for call, err := range map[string]error{"get": get, "put": put, "delete": s.Delete(t.ctx, key, "1")} {
				if err == nil || errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrNotFound) {
					t.Errorf("%s %.20q: error %v, want a refusal", call, key, err)
				}
			}
		}
		if errOf(s.List(t.ctx, "a")) == nil {
			t.Errorf("list of a prefix without / at its end: no error")
		}
	}},
	{"ended by another process", func(t *test, open func() store.Docs) {
		a, b := open(), open()
		if endable, ok := a.(store.Endable); ok {
			endedElsewhere(t, b, endable.EndKey, a, a, nil)
		}
	}},
	{"linearizable", func(t *test, open func() store.Docs) {
		h := newHistory(true)
		atOnce(t, open, 6, 40, docsCalls(h, 2))
		h.check(t, docsModel)
	}},
}

func docsRefuse(t *test, s store.Docs) (all calls, unchanged func()) {
	v := t.put(s, "a", "one", "")
	d := store.Doc{Key: "a", Value: []byte("two"), Version: v}
	return calls{
		"get":    func(ctx context.Context) error { return errOf(s.Get(ctx, "a")) },
		"list":   func(ctx context.Context) error { return errOf(s.List(ctx, "")) },
		"put":    func(ctx context.Context) error { return errOf(s.Put(ctx, d)) },
		"delete": func(ctx context.Context) error { return s.Delete(ctx, "a", v) },
	}, func() { t.doc(s, "a", "one", v) }
}
