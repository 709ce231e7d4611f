package bucket

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/stories"
	"github.com/rota-run/rota/work"
)

func TestPlaces(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]place{
		"s3://logs/":            {"logs", ""},
		"s3://logs/2026/":       {"logs", "2026/"},
		"s3://my.b-u_1//x y/..": {"my.b-u_1", "/x y/.."},
	} {
		if got, err := parsePlace(s); err != nil || got != want || got.String() != s {
			t.Errorf("%s: got %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "logs", "s3://", "s3://logs", "s3:///x", "s3://u:p@logs/", "http://logs/",
		"s3://a/x", "s3://lo gs/"} {
		if got, err := parsePlace(s); err == nil {
			t.Errorf("%q: got %v", s, got)
		}
	}
}

// Whatever the name, its key is one that an item may have, is that of no other name, and of no place.
func FuzzItemKeys(f *testing.F) {
	for _, s := range []string{"a", "a/b", "%2F", "/", "", "\x00\xff", strings.Repeat("%", 1024), "s3://x"} {
		f.Add(s, s+"x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		key := itemKey("logs", a)
		if err := cluster.CheckKey(key); err != nil {
			t.Errorf("%q: %v", a, err)
		}
		if a != b && key == itemKey("logs", b) {
			t.Errorf("%q and %q have the key %q", a, b, key)
		}
		if _, err := parsePlace(key); err == nil {
			t.Errorf("the key %q of %q is a place", key, a)
		}
	})
}

func FuzzCursor(f *testing.F) {
	for _, s := range []string{`{"after":"x"}`, `{}`, ``, `null`, `[1]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decodeCursor(data)
		if err != nil {
			return
		}
		if again, err := decodeCursor(c.encode()); err != nil || again != c {
			t.Errorf("%+v is written %s and read as %+v, %v", c, c.encode(), again, err)
		}
	})
}

// The longest names fit into a cursor, and a page of them is cut where the step is full.
func TestLongNamesFit(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("\x01", 1024) // six bytes each, in JSON: worse than S3 has
	if got := len(cursor{After: name[:600]}.encode()); got > cluster.MaxCursor {
		t.Errorf("the cursor has %d bytes", got)
	}
	var found []listed
	for i := range 1000 {
		found = append(found, listed{Name: fmt.Sprintf("%04d%s", i, strings.Repeat("x", 1020))})
	}
	l := &listing{place: place{"logs", ""}}
	items, last := l.items(found)
	size := 0
	for _, it := range items {
		size += len(it.Input)
	}
	if len(items) == 0 || len(items) == 1000 || size > cluster.MaxInputs || last != found[len(items)-1].Name {
		t.Errorf("%d items of %d bytes, the last is %q", len(items), size, last)
	}
}

// Behind the last name a place that is listed again begins again, also when nothing was behind the name that it came
// from: what stood there is deleted.
func TestTheEndOfAPlace(t *testing.T) {
	t.Parallel()
	const written, left = `{"after":"b"}`, `{"after":""}`
	for _, c := range []struct {
		follow      Follow
		from, to    string
		items       int
		want        string
		wantTheLast bool
	}{
		{Delete, "", "b", 1, left, false},
		{Delete, "", "b", 0, "at", false},
		{Delete, "a", "b", 0, left, false},
		{Delete, "b", "b", 0, left, false},
		{Marks, "b", "b", 0, left, false},
		{Names, "a", "b", 1, written, false},
		{Names, "a", "b", 0, written, false},
		{Names, "b", "b", 0, "at", false},
		{Once, "a", "b", 1, written, true},
		{Once, "b", "b", 0, "at", true},
	} {
		l := &listing{service: service{config: Config{Follow: c.follow}}}
		got := l.atEnd(make([]rota.Item, c.items), cursor{c.from}, cursor{c.to}, []byte("at"))
		if string(got.Cursor) != c.want || got.End != c.wantTheLast || len(got.Items) != c.items {
			t.Errorf("%s from %q to %q with %d items: got %d, %s, %t", c.follow, c.from, c.to, c.items, len(got.Items),
				got.Cursor, got.End)
		}
	}
}

func TestConfigFaults(t *testing.T) {
	t.Parallel()
	if _, err := NewType("x", Objects{}).New(work.Definition{}); err == nil ||
		!strings.Contains(err.Error(), "Take is missing") {
		t.Errorf("got %v", err)
	}
	for config, said := range stories.Rows(t, "testdata/configs.txt") {
		_, err := NewType("x", Objects{Take: takeNone}).New(work.Definition{Config: []byte(config)})
		var ce *work.ConfigError
		if good := len(said.Want) == 0; good != (err == nil) || !good && (!said.In(err.Error()) || !errors.As(err, &ce) ||
			strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: got %v, want %q", config, err, said.Want)
		}
	}
}

func takeNone(context.Context, *rota.Grant, Object) error { return nil }
