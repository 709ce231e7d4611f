package storetest

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
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
			t.Errorf("gets of %q: number %d is %q %q at %q, want %q at %q", keys, i, g.Key, g.Value, g.Version, d.Value,
				d.Version)
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
}

// manyInOrder has a writer that counts up in one document, and then in another. A reader that reads the other one first
// never finds more there, in neither less than was acknowledged before its call.
func manyInOrder(t *test, open func() ManyDocs) {
	writer := open()
	var acknowledged [2]atomic.Int64 // of the first, and of the second
	versions := map[string]store.Version{}
	count := func() {
		for i, key := range []string{"first", "second"} {
			n := acknowledged[i].Load() + 1
			versions[key] = t.put(writer, key, strconv.FormatInt(n, 10), versions[key])
			acknowledged[i].Store(n)
		}
	}
	count()
	var readers sync.WaitGroup
	for range 2 {
		s := open()
		readers.Go(func() {
			for range 60 {
				least := [2]int64{acknowledged[0].Load(), acknowledged[1].Load()}
				docs, err := s.Gets(t.ctx, []string{"second", "first"})
				if err != nil || len(docs) != 2 {
					t.Errorf("gets of 2 documents: %d, %v", len(docs), err)
					return
				}
				second, first := number(docs[0]), number(docs[1])
				if second > first || second < least[1] || first < least[0] {
					t.Errorf("the one that is read first, and written last, has %d; the other one has %d; acknowledged were %d", second, first, least)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { defer close(done); readers.Wait() }()
	defer func() { <-done }() // also where a put has failed: nobody reports after the end
	for {
		count()
		select {
		case <-done:
			return
		default:
		}
	}
}

// number is the number in a document; 0 if there is none.
func number(d store.Doc) int64 {
	n, _ := strconv.ParseInt(string(d.Value), 10, 64)
	return n
}
