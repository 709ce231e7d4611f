package tasks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/work/stage"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/work"
	"github.com/rota-run/rota/work/worktest"
)

// Paths that match nothing are told, but a part may well have no file.
func TestLinesOfNoFile(t *testing.T) {
	t.Parallel()
	r := &linesRunner{places: []tailPlace{{root: t.TempDir(), steps: []string{"*.txt"}}}}
	for _, c := range []struct {
		index, count int64
		ends         bool
	}{{0, 1, false}, {0, 2, true}, {1, 2, true}} {
		_, end, err := r.read(t.Context(), &work.Grant{Index: c.index, Count: c.count}, nil, nil)
		if end != c.ends || (err == nil) != c.ends {
			t.Errorf("part %d of %d: end %t, error %v", c.index, c.count, end, err)
		}
	}
}

// A read holds a bounded number of bytes, however long the lines are.
func TestLongLinesAreReadBitByBit(t *testing.T) {
	t.Parallel()
	dir, line := t.TempDir(), strings.Repeat("x", 200<<10)+"\n"
	write(t, filepath.Join(dir, "a"), line+line+line)
	at := int64(0)
	full, err := (&linesRunner{}).readLines(tailFound{root: dir, rel: "a"}, &at, &stage.Out{})
	if err != nil || !full || at != int64(2*len(line)) {
		t.Errorf("full %t at byte %d, %v; want two of the lines", full, at, err)
	}
}

// A member may allow the whole disk. What a crash has left of a file that was on its way is not in the next one.
func TestFilesThatAreWritten(t *testing.T) {
	t.Parallel()
	var f faults
	if root, rel := (Options{WriteAllow: []string{"/"}}).writable("/var/out", &f); root != "/" || rel != "var/out" ||
		f.err() != nil {
		t.Errorf("%q in %q, %v", rel, root, f.err())
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".a.3.b"), "a longer one of a run that has died")
	must.Succeed(t, filesWriter{dir, "."}.put(&work.Grant{Key: "a", Token: 3}, "b", []byte("new")))
	if got := must.Get(os.ReadFile(filepath.Join(dir, "b")))(t); string(got) != "new" {
		t.Errorf("the file has %q", got)
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "plain words": "plain words", "größe 漢字 \u0646\u200c\u0627": "größe 漢字 \u0646\u200c\u0627",
		"a\x1b[31mb": `a\x1b[31mb`, "a\nb\tc": `a\nb\tc`, "user\u202egpj.exe": `user\u202egpj.exe`,
		"\u2066x\u2069": `\u2066x\u2069`,
		"a\xffb":        `a\xffb`, "\ufeffx\u2028y\u200b": `\ufeffx\u2028y\u200b`, "\u0085": `\u0085`,
		"\U000e0041": `\U000e0041`,
	} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
	cause := errors.New(strings.Repeat("ü", maxErrorText))
	err := plainly(fmt.Errorf("x%w", cause))
	if s := err.Error(); !errors.Is(err, cause) || len(s) > maxErrorText+len("…") || !utf8.ValidString(s) ||
		!strings.HasSuffix(s, "ü…") {
		t.Errorf("got %q", s)
	}
	if plainly(nil) != nil {
		t.Error("nil became an error")
	}
}

// hostile is text with which a target could deceive a reader: it clears the screen, and turns the direction of writing.
const hostile = "\x1b[2J\u202e"

func wantPlain(t *testing.T, h *worktest.Host, log string) {
	t.Helper()
	if strings.ContainsAny(log, hostile[:1]+"\u202e") {
		t.Errorf("the log has %q", log)
	}
	for _, s := range h.Samples() {
		for k, v := range s.Tags {
			if plain(k) != k || plain(v) != v || plain(s.Name) != s.Name {
				t.Errorf("got sample %q %q", s.Name, s.Tags)
			}
		}
	}
}

// TestNothingOfATargetIsShownRaw goes through the types that quote targets.
func TestNothingOfATargetIsShownRaw(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/broken" {
			fmt.Fprint(w, "a{b=\"c\"} "+hostile+"\n")
			return
		}
		fmt.Fprintf(w, "a{b=%q} 1\n{\"a%s\"} 1\n", "x", hostile)
		fmt.Fprint(w, "a{b=\"", hostile, "\"} 1\n")
	})
	for _, path := range []string{"/", "/broken"} {
		g, h := worktest.NewGrant(t, define(t, object{"url": s.URL + path}))
		var log strings.Builder
		g.Log = textLog(&log)
		if err := worktest.Run(t, Builtin(local)["scrape"], g); err != nil && plain(err.Error()) != err.Error() {
			t.Errorf("%q", err)
		}
		if len(h.Samples()) < 2 {
			t.Errorf("%s: only %v", path, h.Samples())
		}
		wantPlain(t, h, log.String())
	}
	l := newExecLines(execConfig{MaxOutput: 1000, MaxPoints: 10}, nil)
	var names []string
	l.emit = func(s publish.Sample) { names = append(names, s.Name) }
	_, _ = l.Write([]byte("{\"name\":\"a\",\"points\":[[1,1]]}\n"))
	if len(names) != 1 {
		t.Errorf("got %v", names)
	}
	if tags := plainTags(map[string]string{"k" + hostile: hostile,
		"a": "b"}); tags[`k\x1b[2J\u202e`] != `\x1b[2J\u202e` || tags["a"] != "b" || len(tags) != 2 {
		t.Errorf("got %q", tags)
	}
}

// A finding quotes a target in the member's log and in the task's error: both are plain, whatever writes them.
func TestAFindingIsPlain(t *testing.T) {
	t.Parallel()
	cause := &AddressError{Kind: "private"}
	g, h := worktest.NewGrant(t, define(t, object{}))
	var logged []string
	g.Log = slog.New(&errorsOnly{&logged})
	err := (&finder{prefix: "x"}).report(t.Context(), g, fmt.Errorf("%s: %w", hostile, cause))
	if !errors.Is(err, cause) || plain(err.Error()) != err.Error() {
		t.Errorf("got %q", err)
	}
	if len(logged) != 1 || plain(logged[0]) != logged[0] {
		t.Errorf("logged %q", logged)
	}
	if h.LastValue(t, "x.up") != 0 {
		t.Error("it is up")
	}
}

// errorsOnly is a handler that keeps the texts of errors, as they are.
type errorsOnly struct{ texts *[]string }

func (errorsOnly) Enabled(context.Context, slog.Level) bool { return true }
func (h errorsOnly) WithAttrs([]slog.Attr) slog.Handler     { return h }
func (h errorsOnly) WithGroup(string) slog.Handler          { return h }
func (h errorsOnly) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok {
			*h.texts = append(*h.texts, err.Error())
		}
		return true
	})
	return nil
}
