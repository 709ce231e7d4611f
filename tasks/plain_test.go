package tasks

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rota-run/rota/work/worktest"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "plain words": "plain words", "größe 漢字 \u0646\u200c\u0627": "größe 漢字 \u0646\u200c\u0627",
		"a\x1b[31mb": `a\x1b[31mb`, "a\nb\tc": `a\nb\tc`, "user\u202egpj.exe": `user\u202egpj.exe`, "\u2066x\u2069": `\u2066x\u2069`,
		"a\xffb": `a\xffb`, "\ufeffx\u2028y\u200b": `\ufeffx\u2028y\u200b`, "\u0085": `\u0085`, "\U000e0041": `\U000e0041`,
	} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
	cause := errors.New(strings.Repeat("ü", maxErrorText))
	err := plainly(fmt.Errorf("x%w", cause))
	if s := err.Error(); !errors.Is(err, cause) || len(s) > maxErrorText+len("…") || !utf8.ValidString(s) || !strings.HasSuffix(s, "ü…") {
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
		if err := worktest.Run(t, Builtin(local)["scrape"], g); err != nil {
			t.Error(err)
		}
		if len(h.Samples()) < 2 {
			t.Errorf("%s: only %v", path, h.Samples())
		}
		wantPlain(t, h, log.String())
	}
	l := newExecLines(execConfig{MaxOutput: 1000, MaxPoints: 10}, nil)
	var names []string
	l.emit = func(s execSample) { names = append(names, s.Name) }
	_, _ = l.Write([]byte("{\"name\":\"a\",\"points\":[[1,1]]}\n"))
	if len(names) != 1 {
		t.Errorf("got %v", names)
	}
	if tags := plainTags(map[string]string{"k" + hostile: hostile, "a": "b"}); tags[`k\x1b[2J\u202e`] != `\x1b[2J\u202e` || tags["a"] != "b" || len(tags) != 2 {
		t.Errorf("got %q", tags)
	}
}
