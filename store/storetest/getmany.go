package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/rota-run/rota/store"
)

// ManyDocs is a store with [store.GetMany].
type ManyDocs interface {
	store.Docs
	store.GetMany
}

// GetMany is the suite of store.GetMany.
func GetMany[S ManyDocs](t *testing.T, open Open[S]) {
	runRules(t, open, refusing(func(_ *test, s ManyDocs) (calls, func()) {
		return calls{"gets": func(ctx context.Context) error { return errOf(s.Gets(ctx, []string{"a"})) }}, nil
	}, manyRules...)...)
}

// docs reads documents at once, and wants them to be so.
func (t *test) docs(s ManyDocs, want ...store.Doc) {
	t.Helper()
	keys := make([]string, len(want))
	for i, d := range want {
		keys[i] = d.Key
	}
	got, err := s.Gets(t.ctx, keys)
	if err != nil || len(got) != len(want) {
		t.Fatalf("gets of %q: %d documents, %v", keys, len(got), err)
	}
	for i, d := range want {
		if g := got[i]; g.Key != d.Key || string(g.Value) != string(d.Value) || g.Version != d.Version {
			t.Errorf("gets of %q: number %d is %q %q at %q, want %q at %q", keys, i, g.Key, g.Value, g.Version, d.Value, d.Version)
		}
	}
}

var manyRules = []rule[ManyDocs]{
	{"round trip", func(t *test, open func() ManyDocs) {
		s := open()
		t.docs(s)
		t.docs(s, store.Doc{Key: "a"})
		a := store.Doc{Key: "a", Value: []byte("one"), Version: t.put(s, "a", "one", "")}
		b := store.Doc{Key: "b/c", Version: t.put(s, "b/c", "", "")}
		t.docs(s, b, store.Doc{Key: "b"}, a, store.Doc{Key: "z/@=:#-_.9Z"}, b)
		got, err := s.Gets(t.ctx, []string{"a", "a"})
		t.succeed("gets", err)
		copy(got[0].Value, "XXX")
		if string(got[1].Value) != "one" {
			t.Errorf("the same document twice shares its bytes")
		}
		t.docs(s, a)
		t.succeed("delete", s.Delete(t.ctx, "a", a.Version))
		t.docs(s, store.Doc{Key: "a"}, b)
		for _, key := range []string{"", "/a", "a/", "ä"} {
			if docs, err := s.Gets(t.ctx, []string{"a", key}); err == nil {
				t.Errorf("gets of %q = %v: no error, want a refusal", key, docs)
			}
		}
	}},
	{"many keys", func(t *test, open func() ManyDocs) { // more than some servers allow in one transaction
		s := open()
		var want []store.Doc
		for i := range 300 {
			d := store.Doc{Key: fmt.Sprint("many/", i)}
			if i%7 == 0 {
				d.Value = fmt.Appendf(nil, "%0*d", 20<<10, i)
				d.Version = t.put(s, d.Key, string(d.Value), "")
			}
			want = append(want, d)
		}
		t.docs(s, want...)
	}},
	{"in their order", manyInOrder},
	{"linearizable", manyLinearizable},
}

// manyInOrder has a writer that counts up in one document, and then in another. A reader that reads the other one first
// never finds more there.
func manyInOrder(t *test, open func() ManyDocs) {
	writer := open()
	var readers sync.WaitGroup
	for range 2 {
		s := open()
		readers.Go(func() {
			for range 60 {
				docs, err := s.Gets(t.ctx, []string{"second", "first"})
				if err != nil || len(docs) != 2 {
					t.Errorf("gets of 2 documents: %d, %v", len(docs), err)
					return
				}
				second, _ := strconv.Atoi(string(docs[0].Value)) // none is 0
				first, _ := strconv.Atoi(string(docs[1].Value))
				if second > first {
					t.Errorf("the one that is read first, and written last, has %d; the other one has %d", second, first)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { defer close(done); readers.Wait() }()
	defer func() { <-done }() // also where a put has failed: nobody reports after the end
	versions := map[string]store.Version{}
	for i := 1; ; i++ {
		for _, key := range []string{"first", "second"} {
			versions[key] = t.put(writer, key, strconv.Itoa(i), versions[key])
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

// manyLinearizable lets clients write, delete and read several documents at once. Each document that a call returns is a
// Get of its own, within the call.
func manyLinearizable(t *test, open func() ManyDocs) {
	h, keys := newHistory(true), []string{"k1", "k0"}
	calls, known := docsCalls(h, 2)
	atOnce(t, open, 6, 40, func(ctx context.Context, client ManyDocs, number, n int, r *rand.Rand) {
		if r.IntN(4) > 0 {
			calls(ctx, client, number, n, r)
			return
		}
		start := h.now()
		docs, err := client.Gets(ctx, keys)
		if err == nil && len(docs) != len(keys) {
			err = fmt.Errorf("%d documents", len(docs))
		}
		var seen []entry
		for i, d := range docs {
			known[number][d.Key] = d.Version
			out := docsOutput{version: d.Version, value: string(d.Value)}
			if d.Version == "" {
				out.err = store.ErrNotFound
			}
			seen = append(seen, entry{docsInput{op: "get", key: keys[min(i, 1)]}, out})
		}
		h.note(number, start, err, seen...)
	})
	h.check(t, docsModel)
}
