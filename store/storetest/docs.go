package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
)

// Docs is the suite of store.Docs.
func Docs[S store.Docs](t *testing.T, open Open[S]) {
	runRules(t, open, append([]rule[S]{
		{"round trip", docsRoundTrip[S]},
		{"stale changes refused", docsStale[S]},
		{"version never comes back", docsVersions[S]},
		{"one of many wins", docsOneWins[S]},
		{"caller keeps its bytes", docsOwnership[S]},
		{"list", docsList[S]},
		{"refreshed list", docsRefresh[S]},
		{"bad keys", docsBadKeys[S]},
		{"ended by another process", docsEndedElsewhere[S]},
		{"linearizable", docsLinearizable[S]},
	}, refusing(docsRefuse[S])...))
}

// putter is a store, or a session on one.
type putter interface {
	Put(ctx context.Context, d store.Doc) (store.Version, error)
}

func put(t *testing.T, ctx context.Context, s putter, key, value string, v store.Version) store.Version {
	t.Helper()
	got, err := s.Put(ctx, store.Doc{Key: key, Value: []byte(value), Version: v})
	if err != nil {
		t.Fatalf("put %q: %v", key, err)
	}
	if got == "" || got == v {
		t.Fatalf("put %q returned version %q after %q: want a new one", key, got, v)
	}
	return got
}

func wantDoc(t *testing.T, ctx context.Context, s store.Docs, key, value string, v store.Version) {
	t.Helper()
	got, err := s.Get(ctx, key)
	if err != nil {
		t.Fatalf("get %q: %v", key, err)
	}
	if got.Key != key || string(got.Value) != value || got.Version != v {
		t.Fatalf("get %q = %q %q at %q, want %q at %q", key, got.Key, got.Value, got.Version, value, v)
	}
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: error %v, want %v", what, err, want)
	}
	if !errors.Is(want, store.ErrUnknown) && errors.Is(err, store.ErrUnknown) {
		t.Fatalf("%s: error %v also says that the outcome is unknown", what, err)
	}
}

func docsRoundTrip[S store.Docs](t *testing.T, open Open[S]) {
	a, b, ctx := pair(t, open)
	all := map[string][]string{"a/b": {"one", "", "two", "two"}}
	all[strings.Repeat("k", store.MaxKey)] = []string{strings.Repeat("x", 100<<10)}
	for key, values := range all { // order-free: they are apart
		v := store.Version("")
		for _, value := range values {
			v = put(t, ctx, a, key, value, v)
			wantDoc(t, ctx, b, key, value, v)
			a, b = b, a
		}
	}
	v, err := a.Put(ctx, store.Doc{Key: "nil"})
	succeed(t, "put of a nil value", err)
	wantDoc(t, ctx, b, "nil", "", v)
}

func docsStale[S store.Docs](t *testing.T, open Open[S]) {
	s, ctx := single(t, open)
	wantError(t, "get of what never was", errOf(s.Get(ctx, "b")), store.ErrNotFound)
	v1 := put(t, ctx, s, "a", "one", "")
	wantError(t, "delete of another", s.Delete(ctx, "b", v1), store.ErrNotFound)
	wantError(t, "update of what is not there", errOf(s.Put(ctx, store.Doc{Key: "b", Version: v1})), store.ErrConflict)
	v2 := put(t, ctx, s, "a", "two", v1)
	for _, v := range []store.Version{v1, "", "no-version-of-ours"} {
		wantError(t, fmt.Sprintf("put at %q", v),
			errOf(s.Put(ctx, store.Doc{Key: "a", Value: []byte("stale"), Version: v})), store.ErrConflict)
		wantError(t, fmt.Sprintf("delete at %q", v), s.Delete(ctx, "a", v), store.ErrConflict)
	}
	wantDoc(t, ctx, s, "a", "two", v2)
	succeed(t, "delete", s.Delete(ctx, "a", v2))
	wantError(t, "get after delete", errOf(s.Get(ctx, "a")), store.ErrNotFound)
	wantError(t, "second delete", s.Delete(ctx, "a", v2), store.ErrNotFound)
}

func docsVersions[S store.Docs](t *testing.T, open Open[S]) {
	s, ctx := single(t, open)
	var seen []store.Version
	for range 5 {
		v1 := put(t, ctx, s, "a", "same", "")
		v2 := put(t, ctx, s, "a", "same", v1)
		for _, v := range []store.Version{v1, v2} {
			if slices.Contains(seen, v) {
				t.Fatalf("version %q came back after a delete; seen before: %q", v, seen)
			}
			seen = append(seen, v)
		}
		succeed(t, "delete", s.Delete(ctx, "a", v2))
		wantError(t, "put at a deleted version", errOf(s.Put(ctx, store.Doc{Key: "a", Version: v2})), store.ErrConflict)
	}
}

// docsOneWins lets many writers, each with a handle of its own, create a document at once, and then update it.
func docsOneWins[S store.Docs](t *testing.T, open Open[S]) {
	handle, ctx := open(t), deadline(t)
	handles, errs := make([]S, 8), make([]error, 8)
	for i := range handles {
		handles[i] = handle(t)
	}
	for round := range 10 {
		d := store.Doc{Key: fmt.Sprintf("lock/%d", round/2)}
		if round%2 == 1 {
			now, err := handles[0].Get(ctx, d.Key)
			succeed(t, "get what was created", err)
			d.Version = now.Version
		}
		start := make(chan struct{})
		var done sync.WaitGroup
		for i, s := range handles {
			done.Go(func() {
				<-start
				_, errs[i] = s.Put(ctx, store.Doc{Key: d.Key, Value: []byte{byte(i)}, Version: d.Version})
			})
		}
		close(start)
		done.Wait()
		won := 0
		for i, err := range errs {
			if err == nil {
				won++
				continue
			}
			wantError(t, fmt.Sprintf("writer %d", i), err, store.ErrConflict)
		}
		if won != 1 {
			t.Fatalf("round %d: %d writers won at %q, want 1", round, won, d.Version)
		}
	}
}

func docsOwnership[S store.Docs](t *testing.T, open Open[S]) {
	s, ctx := single(t, open)
	value := []byte("mine")
	v, err := s.Put(ctx, store.Doc{Key: "a", Value: value})
	succeed(t, "put", err)
	copy(value, "XXXX")
	wantDoc(t, ctx, s, "a", "mine", v)
	got, _ := s.Get(ctx, "a")
	copy(got.Value, "YYYY")
	wantDoc(t, ctx, s, "a", "mine", v)
	listed, err := s.List(ctx, "")
	if err == nil && len(listed) == 1 {
		copy(listed[0].Value, "ZZZZ")
	}
	wantDoc(t, ctx, s, "a", "mine", v)
}

func docsList[S store.Docs](t *testing.T, open Open[S]) {
	s, ctx := single(t, open)
	want := map[string]store.Version{}
	for _, key := range []string{"b/2", "a", "b/10", "b/1/x", "b-/1", "b", "b0/1", "b/1", "c/1", "b/@=:#-_.9Z"} {
		want[key] = put(t, ctx, s, key, "value of "+key, "")
	}
	for prefix, keys := range map[string][]string{
		"b/":    {"b/1", "b/1/x", "b/10", "b/2", "b/@=:#-_.9Z"},
		"b/1/":  {"b/1/x"},
		"none/": nil,
		"":      {"a", "b", "b-/1", "b/1", "b/1/x", "b/10", "b/2", "b/@=:#-_.9Z", "b0/1", "c/1"},
	} {
		docs := listed(t, ctx, s, prefix, keys)
		for _, d := range docs {
			if d.Version != want[d.Key] || !bytes.Equal(d.Value, []byte("value of "+d.Key)) {
				t.Errorf("list %q has %q at %q for key %q, want version %q", prefix, d.Value, d.Version, d.Key, want[d.Key])
			}
		}
	}
}

func docsRefresh[S store.Docs](t *testing.T, open Open[S]) {
	s, ctx := single(t, open)
	r, ok := any(s).(store.Refresher)
	if !ok {
		t.Skipf("%T is no store.Refresher: its lists are not stale", s)
	}
	for i := range 5 {
		key := fmt.Sprintf("fresh/%d", i)
		put(t, ctx, s, key, "", "")
		succeed(t, "refresh", r.Refresh(ctx))
		docs, err := s.List(ctx, "fresh/")
		if err != nil || len(docs) != i+1 || docs[i].Key != key {
			t.Fatalf("list after the refresh: %d documents, %v; want %d", len(docs), err, i+1)
		}
	}
}

// listed lists until the keys are as wanted, since List may lag.
func listed(t *testing.T, ctx context.Context, s store.Docs, prefix string, want []string) []store.Doc {
	t.Helper()
	for {
		docs, err := s.List(ctx, prefix)
		var keys []string
		for _, d := range docs {
			keys = append(keys, d.Key)
		}
		switch {
		case err == nil && slices.Equal(keys, want):
			return docs
		case ctx.Err() != nil || err != nil:
			t.Fatalf("list %q = %q, %v; want %q", prefix, keys, err, want)
		}
		time.Sleep(2 * time.Millisecond) // waits: between two looks at a condition; the deadline is that of ctx
	}
}

func docsBadKeys[S store.Docs](t *testing.T, open Open[S]) {
	s, ctx := single(t, open)
	for _, key := range []string{"", "/a", "a/", "a//b", "a b", "ä", strings.Repeat("k", store.MaxKey+1)} {
		_, getErr := s.Get(ctx, key)
		_, putErr := s.Put(ctx, store.Doc{Key: key})
		for call, err := range map[string]error{"get": getErr, "put": putErr, "delete": s.Delete(ctx, key, "1")} {
			if err == nil || errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s %.20q: error %v, want a refusal", call, key, err)
			}
		}
	}
	if _, err := s.List(ctx, "a"); err == nil {
		t.Errorf("list of a prefix without / at its end: no error")
	}
}

func docsRefuse[S store.Docs](t *testing.T, ctx context.Context, s S) (all calls, unchanged func()) {
	v := put(t, ctx, s, "a", "one", "")
	return calls{
		"get":  func(ctx context.Context) error { _, err := s.Get(ctx, "a"); return err },
		"list": func(ctx context.Context) error { _, err := s.List(ctx, ""); return err },
		"put": func(ctx context.Context) error {
			_, err := s.Put(ctx, store.Doc{Key: "a", Value: []byte("two"), Version: v})
			return err
		},
		"delete": func(ctx context.Context) error { return s.Delete(ctx, "a", v) },
	}, func() { wantDoc(t, ctx, s, "a", "one", v) }
}
