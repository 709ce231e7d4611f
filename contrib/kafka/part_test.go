package kafka

import (
	"context"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
)

func takeNone(context.Context, *rota.Grant, []*kgo.Record) (int, error) { return 0, nil }

func TestParts(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]part{
		"orders":       {topic: "orders", watches: true},
		"orders@12":    {topic: "orders", watches: true, first: 12},
		"orders/0":     {topic: "orders"},
		"a.b_c-D/31":   {topic: "a.b_c-D", number: 31},
		"o@2147483647": {topic: "o", watches: true, first: 2147483647},
	} {
		got, err := parsePart(key)
		if err != nil || got != want || got.key() != key {
			t.Errorf("%s: got %+v (%s), %v, want %+v", key, got, got.key(), err, want)
		}
	}
	for _, key := range []string{"", "/", "@", "o/", "o@", "o/-1", "o/+1", "o/01", "o/1/2", "o/1@2", "o@2147483648",
		"a b", "ä", ".", "..", "s3://x", strings.Repeat("x", 250)} {
		if got, err := parsePart(key); err == nil {
			t.Errorf("%q: got %+v", key, got)
		}
	}
}

// A key that is read is written as it was, but for "orders@0", which nobody writes.
func FuzzParts(f *testing.F) {
	for _, s := range []string{"orders", "orders@12", "orders/7", "o/01", "@"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, key string) {
		p, err := parsePart(key)
		if err == nil && p.key() != key && !strings.HasSuffix(key, "@0") {
			t.Errorf("%q is read as %+v and written %q", key, p, p.key())
		}
	})
}

func FuzzPosition(f *testing.F) {
	for _, s := range []string{`{"offset":3,"epoch":1,"topic_id":"x"}`, `{"offset":-1}`, `{}`, ``, `null`, `[]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := decodePosition(data)
		if err != nil || p == nil {
			return
		}
		if p.Offset < 0 {
			t.Fatalf("%q is read as %+v", data, p)
		}
		again, err := p.encode()
		must.Succeed(t, err)
		if q, err := decodePosition(again); err != nil || *q != *p {
			t.Fatalf("%+v is written %q and read as %+v, %v", p, again, q, err)
		}
	})
}
