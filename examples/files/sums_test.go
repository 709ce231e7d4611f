package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/work"
	"github.com/rota-run/rota/work/worktest"
)

// odd is a name that no key may have.
const odd = "odd 1\n\"#\xff%é"

// A listing goes on after its cursor, in the order of names, and leaves out what is no file.
func TestListGoesFromPageToPage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	names := []string{"a", "b c", "d/", "e", odd}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got, keys []string
	cursor, pages := "", 0
	for end := false; !end; pages++ {
		p, err := list(dir, cursor, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range p.Items {
			got, keys = append(got, string(item.Input)), append(keys, item.Key)
		}
		cursor, end = string(p.Cursor), p.End
	}
	if want := slices.DeleteFunc(names, func(n string) bool { return n == "d/" }); !slices.Equal(got, want) ||
		pages != 2 {
		t.Errorf("%d pages with %q, want %q", pages, got, want)
	}
	for _, key := range keys {
		if strings.ContainsAny(key, "\n\"# /") || strings.Contains(key, "\xff") {
			t.Errorf("the key %q is not escaped", key)
		}
	}
	if _, err := list(filepath.Join(dir, "none"), "", 2); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory that does not exist: %v", err)
	}
}

// The result of a newer token stays, and a run that has lost its grant writes none. Nothing is left on the way.
func TestResultsAreFenced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, step := range []struct {
		token uint64
		valid bool
		ok    bool
	}{{2, false, false}, {2, true, true}, {1, true, false}, {2, true, true}, {3, false, false}, {3, true, true}} {
		before, _ := tokenIn(filepath.Join(dir, "x.sha256"))
		err := result{dir: dir, name: "x", token: step.token, valid: func() bool { return step.valid }}.write("sum")
		after, readErr := tokenIn(filepath.Join(dir, "x.sha256"))
		want := before
		if step.ok {
			want = step.token
		}
		if (err == nil) != step.ok || readErr != nil || after != want || step.token < before &&
			!errors.Is(err, errOld) {
			t.Errorf("%+v: %v; the result is of token %d, %v, want %d", step, err, after, readErr, want)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.part")); err != nil || len(left) > 0 {
		t.Errorf("on the way: %q, %v", left, err)
	}
}

// A run sums one file. One that has gone has no result, and a run that was cut off writes none.
func TestSumOfAFile(t *testing.T) {
	t.Parallel()
	c := config{In: t.TempDir(), Out: t.TempDir()}
	if err := os.WriteFile(filepath.Join(c.In, odd), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	g, _ := worktest.NewGrant(t, work.Definition{})
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sum(over, g, c, odd); !errors.Is(err, context.Canceled) {
		t.Errorf("cut off: %v", err)
	}
	if err := errors.Join(sum(t.Context(), g, c, odd), sum(t.Context(), g, c, "gone")); err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadDir(c.Out)
	if err != nil || len(made) != 1 || made[0].Name() != odd+".sha256" {
		t.Fatalf("results %v, %v", made, err)
	}
	got, err := os.ReadFile(filepath.Join(c.Out, made[0].Name()))
	if want := fmt.Sprintf("%x %d\n", sha256.Sum256([]byte("text")), g.Token); err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
