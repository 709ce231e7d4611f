package store

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestCheckKey(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "a/b/c", "AZaz09._#@=-:", ".", strings.Repeat("x", MaxKey)} {
		if err := CheckKey(good); err != nil {
			t.Errorf("CheckKey(%q) = %v, want nil", good, err)
		}
	}
	for _, bad := range []string{"", "/", "a/", "/a", "a//b", "a b", "ä", "a\x00", strings.Repeat("x", MaxKey+1)} {
		if err := CheckKey(bad); err == nil {
			t.Errorf("CheckKey(%q) = nil, want an error", bad)
		}
	}
}

func TestCheckPrefix(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"", "a/", "a/b/"} {
		if err := CheckPrefix(good); err != nil {
			t.Errorf("CheckPrefix(%q) = %v, want nil", good, err)
		}
	}
	for _, bad := range []string{"/", "a", "a//", "a//b/", "//", " /", "a/b"} {
		if err := CheckPrefix(bad); err == nil {
			t.Errorf("CheckPrefix(%q) = nil, want an error", bad)
		}
	}
}

func FuzzCheckKey(f *testing.F) {
	f.Add("a/b")
	f.Add("a//b")
	f.Fuzz(func(t *testing.T, key string) {
		if CheckKey(key) == nil && CheckPrefix(key+"/") != nil {
			t.Errorf("key %q is good, but not as a prefix", key)
		}
	})
}

// TestCheckQueue: what a call of a queue may be, up to its bounds.
func TestCheckQueue(t *testing.T) {
	t.Parallel()
	a, b := Shard{Edge: "a"}, Shard{Edge: "b"}
	of := func(s Shard) []Message { return []Message{{Shard: s, Number: 1}} }
	for what, c := range map[string]struct { // order-free: each is judged alone
		err  error
		fine bool
	}{
		"a flow":                        {CheckFlow("f", []Shard{a, b, {Edge: "a", Number: MaxShards - 1}}), true},
		"a flow without shards":         {CheckFlow("f", nil), false},
		"a flow of most shards":         {CheckFlow("f", shards(MaxShards)), true},
		"a flow of more":                {CheckFlow("f", shards(MaxShards+1)), false},
		"a shard twice":                 {CheckFlow("f", []Shard{a, a}), false},
		"a number that is too large":    {CheckFlow("f", []Shard{{Edge: "a", Number: MaxShards}}), false},
		"a look":                        {CheckReceive(Receive{Shard: a, Limit: 1, Peek: true}), true},
		"most messages":                 {CheckReceive(Receive{Shard: a, Limit: MaxReceived, Lease: 1}), true},
		"more":                          {CheckReceive(Receive{Shard: a, Limit: MaxReceived + 1, Lease: 1}), false},
		"messages for no time":          {CheckReceive(Receive{Shard: a, Limit: 1}), false},
		"what is kept for no time":      {CheckReceive(Receive{Shard: a, Keep: of(a)}), false},
		"what is given back":            {CheckReceive(Receive{Shard: a, Return: of(a)}), true},
		"what is kept of another shard": {CheckReceive(Receive{Shard: a, Lease: time.Second, Keep: of(b)}), false},
		"what is given back of another": {CheckReceive(Receive{Shard: a, Return: of(b)}), false},
		"a unit with a name":            {CheckUnit(Unit{Name: "u"}), true},
		"a unit without one":            {CheckUnit(Unit{}), false},
		"a unit with two":               {CheckUnit(Unit{Name: "u", Inputs: of(a)}), false},
		"a name of most bytes":          {CheckName(strings.Repeat("x", 200)), true},
		"a name of more":                {CheckName(strings.Repeat("x", 201)), false},
		"a seed with as much room":      {CheckSeed(math.MaxInt64 / 2), true},
		"a seed with less":              {CheckSeed(math.MaxInt64/2 + 1), false},
		"a seed with nothing":           {CheckSeed(0), false},
	} {
		if (c.err == nil) != c.fine {
			t.Errorf("%s: %v", what, c.err)
		}
	}
	if (Depth{Pending: 1, Sealed: true}).Drained() || (Depth{}).Drained() || !(Depth{Sealed: true}).Drained() {
		t.Error("a shard is drained when it is sealed and nothing waits")
	}
	if (Membership{}).Leads() {
		t.Error("who is in no group leads it")
	}
}

// shards are so many of one edge and another.
func shards(n int) (all []Shard) {
	for i := range n {
		all = append(all, Shard{Edge: string(rune('a' + i%2)), Number: i / 2})
	}
	return all
}

// renewer tells a renewal from a write.
type renewer struct{ Session }

func (renewer) Put(context.Context, Doc) (Version, error)   { return "written", nil }
func (renewer) Renew(context.Context, Doc) (Version, error) { return "renewed", nil }

// TestRenew: only what is there is renewed, without a hint; who waits for a document learns of a new one.
func TestRenew(t *testing.T) {
	t.Parallel()
	for version, want := range map[Version]Version{"": "written", "1": "renewed"} { // order-free: each is judged alone
		if got, err := Renew(t.Context(), renewer{}, Doc{Version: version}); got != want || err != nil {
			t.Errorf("of version %q: %s, %v, want %s", version, got, err, want)
		}
	}
}

// one has one document, and reads one at a time.
type one struct{ Docs }

func (one) Get(_ context.Context, key string) (Doc, error) {
	switch key {
	case "there":
		return Doc{Key: key, Version: "1"}, nil
	case "away":
		return Doc{}, ErrUnavailable
	}
	return Doc{}, ErrNotFound
}

// TestGetAll: what is not there has its key, and no version.
func TestGetAll(t *testing.T) {
	t.Parallel()
	docs, err := GetAll(t.Context(), one{}, []string{"none", "there"})
	if err != nil || len(docs) != 2 || docs[0].Key != "none" || docs[0].Version != "" || docs[1].Version != "1" {
		t.Errorf("%+v, %v", docs, err)
	}
	if _, err := GetAll(t.Context(), one{}, []string{"there", "away"}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a store that is away: %v", err)
	}
}
