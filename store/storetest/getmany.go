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
	runRules(t, open, append([]rule[S]{
		{"round trip", manyRoundTrip[S]},
		{"many keys", manyKeys[S]},
		{"in their order", manyInOrder[S]},
		{"linearizable", manyLinearizable[S]},
	}, refusing(func(_ *testing.T, _ context.Context, s S) (calls, func()) {
		return calls{"gets": func(ctx context.Context) error { _, err := s.Gets(ctx, []string{"a"}); return err }}, nil
	})...))
}

// wantDocs reads documents at once and compares them with what Get says of each.
func wantDocs(t *testing.T, ctx context.Context, s ManyDocs, want ...store.Doc) {
	t.Helper()
	keys := make([]string, len(want))
	for i, d := range want {
		keys[i] = d.Key
	}
	got, err := s.Gets(ctx, keys)
	if err != nil || len(got) != len(want) {
		t.Fatalf("gets of %q: %d documents, %v", keys, len(got), err)
	}
	for i, d := range want {
		if g := got[i]; g.Key != d.Key || string(g.Value) != string(d.Value) || g.Version != d.Version {
			t.Errorf("gets of %q: number %d is %q %q at %q, want %q at %q", keys, i, g.Key, g.Value, g.Version, d.Value, d.Version)
		}
	}
}

func manyRoundTrip[S ManyDocs](t *testing.T, open Open[S]) {
	s, ctx := single(t, open)
	wantDocs(t, ctx, s)
	wantDocs(t, ctx, s, store.Doc{Key: "a"})
	a := store.Doc{Key: "a", Value: []byte("one"), Version: put(t, ctx, s, "a", "one", "")}
	b := store.Doc{Key: "b/c", Version: put(t, ctx, s, "b/c", "", "")}
	wantDocs(t, ctx, s, b, store.Doc{Key: "b"}, a, store.Doc{Key: "z/@=:#-_.9Z"}, b)
	got, err := s.Gets(ctx, []string{"a", "a"})
	succeed(t, "gets", err)
	copy(got[0].Value, "XXX")
	if string(got[1].Value) != "one" {
		t.Errorf("the same document twice shares its bytes")
	}
	wantDocs(t, ctx, s, a)
	succeed(t, "delete", s.Delete(ctx, "a", a.Version))
	wantDocs(t, ctx, s, store.Doc{Key: "a"}, b)
	for _, key := range []string{"", "/a", "a/", "ä"} {
		if docs, err := s.Gets(ctx, []string{"a", key}); err == nil {
			t.Errorf("gets of %q = %v: no error, want a refusal", key, docs)
		}
	}
}

// manyKeys reads more documents than some servers allow in one transaction, and more bytes than a typical answer has.
func manyKeys[S ManyDocs](t *testing.T, open Open[S]) {
	s, ctx := single(t, open)
	var want []store.Doc
	for i := range 300 {
		d := store.Doc{Key: fmt.Sprint("many/", i)}
		if i%7 == 0 {
			d.Value = fmt.Appendf(nil, "%0*d", 20<<10, i)
			d.Version = put(t, ctx, s, d.Key, string(d.Value), "")
		}
		want = append(want, d)
	}
	wantDocs(t, ctx, s, want...)
}

// manyInOrder has a writer that counts up in one document, and then in another. A reader that reads the other one first never finds more there.
func manyInOrder[S ManyDocs](t *testing.T, open Open[S]) {
	handle, ctx := open(t), deadline(t)
	writer := handle(t)
	var readers sync.WaitGroup
	for range 2 {
		s := handle(t)
		readers.Go(func() { readInOrder(t, ctx, s) })
	}
	done := make(chan struct{})
	go func() { defer close(done); readers.Wait() }()
	defer func() { <-done }() // also where a put has failed: nobody reports after the end
	versions := map[string]store.Version{}
	for i := 1; ; i++ {
		for _, key := range []string{"first", "second"} {
			versions[key] = put(t, ctx, writer, key, strconv.Itoa(i), versions[key])
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

func readInOrder(t *testing.T, ctx context.Context, s ManyDocs) {
	for range 60 {
		docs, err := s.Gets(ctx, []string{"second", "first"})
		if err != nil || len(docs) != 2 {
			t.Errorf("gets of 2 documents: %d, %v", len(docs), err)
			return
		}
		if second, first := count(docs[0]), count(docs[1]); second > first {
			t.Errorf("the one that is read first, and written last, has %d; the other one has %d", second, first)
		}
	}
}

// count is the number in a document; 0 if there is none.
func count(d store.Doc) int {
	n, _ := strconv.Atoi(string(d.Value))
	return n
}

// manyLinearizable lets clients write, delete and read several documents at once. Each document that a call returns is a Get of its own, within the call.
func manyLinearizable[S ManyDocs](t *testing.T, open Open[S]) {
	s := calm()
	calls, known := docsCalls[S](s, 2)
	keys := []string{"k1", "k0"}
	atOnce(t, open, 6, 40, func(ctx context.Context, client S, number, n int, r *rand.Rand) {
		if r.IntN(4) > 0 {
			calls(ctx, client, number, n, r)
			return
		}
		var docs []store.Doc
		var err error
		s.h.doAll(number, len(keys), func(i int) any { return docsInput{op: "get", key: keys[i]} }, func() {
			docs, err = client.Gets(ctx, keys)
		}, func(i int) any {
			if err != nil || len(docs) != len(keys) {
				return docsOutput{err: fmt.Errorf("%d documents: %w", len(docs), err)}
			}
			d := docs[i]
			known[number][d.Key] = d.Version
			if d.Version == "" {
				return docsOutput{err: store.ErrNotFound}
			}
			return docsOutput{version: d.Version, value: string(d.Value)}
		})
	})
	s.h.check(t, docsModel)
}
