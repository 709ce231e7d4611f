package powercut

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
)

// written lets a writer write until it has said so many lines, and returns the ledger of what it said.
func written(t *testing.T, dir, name string, lines int) *ledger {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var said bytes.Buffer
	out := &counting{w: &said, left: lines, full: cancel}
	if err := Write(ctx, dir, name, out); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	l := newLedger()
	must.Succeed(t, l.read(&said))
	return l
}

// counting calls full after so many writes.
type counting struct {
	w    io.Writer
	left int
	full func()
}

func (c *counting) Write(b []byte) (int, error) {
	if c.left--; c.left == 0 {
		c.full()
	}
	return c.w.Write(b)
}

// puts puts a segment in, beside the ledger.
func puts(dir, segment string) error {
	s, err := file.Open(context.Background(), dir, file.Options{})
	if err != nil {
		return err
	}
	_, err = s.Commit(context.Background(), flowName,
		store.Unit{Name: "spoilt", Outputs: []store.Put{{Shard: front, Data: []byte(segment)}}})
	return errors.Join(err, s.Close())
}

func TestVerify(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(l *ledger, dir string) error
		lost  int
		want  string // in the faults; "" for none
	}{
		{"all is there", func(*ledger, string) error { return nil }, 0, ""},
		{"an entry is missing", func(l *ledger, _ string) error { l.acked[1000] = "x"; return nil }, 1,
			"entry 1000 was acknowledged"},
		{"an entry is another one", func(l *ledger, _ string) error { l.acked[newest(l)] = "x"; return nil }, 1,
			"was acknowledged, and is not there"},
		{"an entry that nobody gave",
			func(l *ledger, _ string) error { delete(l.tried, l.acked[newest(l)]); return nil }, 0, "nobody gave it"},
		{"a document is another one", func(l *ledger, _ string) error { l.docs["position/w0"].acked = "x"; return nil },
			1, "document position/w0"},
		{"a segment is missing",
			func(l *ledger, _ string) error { l.segments["x/1"] = &segment{given: true, put: true}; return nil }, 1,
			"segment x/1 was put in"},
		{"a segment is not at its end", func(l *ledger, dir string) error {
			l.segments["x/1"] = &segment{given: true, put: true, moved: true, ended: true}
			return puts(dir, "x/1")
		}, 1, "is not at the end"},
		{"a segment that nobody put in", func(l *ledger, _ string) error { delete(l.segments, "w0.1/2"); return nil },
			0, "nobody put in"},
		{"a segment is there twice", func(_ *ledger, dir string) error { return puts(dir, "w0.1/2") }, 0,
			"is there 2 times"},
		{"no store", func(_ *ledger, dir string) error {
			return os.WriteFile(filepath.Join(dir, "rota.db"), []byte("garbage"), 0o600)
		}, -1, "does not open"},
		{"what came while it was cut may be missing",
			func(l *ledger, _ string) error { l.late[1000] = "x"; return nil }, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "store")
			l := written(t, dir, "w0.1", 250) // beyond a snapshot
			must.Succeed(t, c.spoil(l, dir))
			all := len(l.acked)
			f := l.verify(t.Context(), dir)
			if c.lost < 0 {
				c.lost = all
			}
			if f.lost != c.lost || (c.want == "") != (len(f.faults) == 0) ||
				!strings.Contains(strings.Join(f.faults, "; "), c.want) {
				t.Errorf("%d lost of %d, faults %q; want %d and %q", f.lost, all, f.faults, c.lost, c.want)
			}
		})
	}
}

func newest(l *ledger) (index uint64) {
	for i := range l.acked {
		index = max(index, i)
	}
	return index
}

// TestVerifyChecksTheChain: a record that builds on what never was is noticed.
func TestVerifyChecksTheChain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	l := written(t, dir, "w1.1", 20)
	s, err := file.Open(t.Context(), dir, file.Options{})
	must.Succeed(t, err)
	page, err := s.Read(t.Context(), 3, 1)
	must.Succeed(t, err)
	data := page.Records[0].Data // it builds on the entry 3, under another chain than the one that is there
	other := filepath.Join(t.TempDir(), "other")
	written(t, other, "w2.1", 20)
	o, err := file.Open(t.Context(), other, file.Options{})
	must.Succeed(t, err)
	if _, err := o.Append(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, errors.Join(s.Close(), o.Close()))
	f := l.verify(t.Context(), other)
	if !strings.Contains(strings.Join(f.faults, "; "), "builds on chain") {
		t.Errorf("faults %q", f.faults)
	}
}

func TestANewStoreThatWasNeverPromisedMayBeMissing(t *testing.T) {
	t.Parallel()
	if f := newLedger().verify(t.Context(), filepath.Join(t.TempDir(), "none")); len(f.faults) > 0 {
		t.Errorf("faults %q", f.faults)
	}
}

func TestLedgerReadsUpToHalfALine(t *testing.T) {
	t.Parallel()
	l := newLedger()
	l.note(line{Sum: "a"})
	l.cutAt = 10
	text := `{"ack":true,"index":1,"sum":"a","at_ns":9}
{"ack":true,"index":2,"sum":"b","at_ns":10}
{"ack":true,"ind`
	must.Succeed(t, l.read(strings.NewReader(text)))
	if l.acked[1] != "a" || len(l.acked) != 1 || l.late[2] != "b" || l.acknowledged() != 1 {
		t.Errorf("acknowledged %v, while it was cut %v", l.acked, l.late)
	}
	if err := l.read(strings.NewReader("nonsense")); err == nil {
		t.Error("nonsense was taken")
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		r    Report
		want bool
	}{
		{Report{}, false},
		{Report{Cuts: 1}, true},
		{Report{Cuts: 1, Lost: 1}, false},
		{Report{Cuts: 1, Faults: []string{"x"}}, false},
		{Report{Cuts: 1, Control: Control{Cuts: 1, Lost: 1}}, true},
		{Report{Cuts: 1, Control: Control{Cuts: 1}}, false},
	} {
		r := c.r
		if r.decide(); r.OK != c.want {
			t.Errorf("%+v: ok %v", c.r, r.OK)
		}
	}
}
