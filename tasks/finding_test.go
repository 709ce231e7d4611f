package tasks

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/work"
	"github.com/rota-run/rota/work/worktest"
)

// TestFindings plays testdata/findings.txt: a type and its config, and below it what one round of it finds. Its targets
// are those of targets.
func TestFindings(t *testing.T) {
	t.Parallel()
	text := must.Get(os.ReadFile("testdata/findings.txt"))(t)
	known := targets(t)
	_, rows, _ := strings.Cut(strings.ReplaceAll(strings.TrimSpace(string(text)), "\n    ", "\t"), "\n\n")
	for row := range strings.SplitSeq(rows, "\n") {
		if row == "" || row[0] == '#' {
			continue
		}
		t.Run(row, func(t *testing.T) {
			t.Parallel()
			task, wants, _ := strings.Cut(known.Replace(row), "\t")
			typ, config, _ := strings.Cut(task, " ")
			looks(t, typ, work.Definition{Config: json.RawMessage(config), TimeoutMS: 60_000},
				strings.Split(wants, "; "))
		})
	}
}

// looks runs a round, and compares it with what is wanted: "up", "down REASON", "says TEXT" and "hides TEXT" of its
// error and log, "NAME=VALUE" of the last sample of a name, "NAME#N" of how many there are, "#N" of all; "within 50ms"
// is its time limit.
func looks(t *testing.T, typ string, d work.Definition, wants []string) {
	t.Helper()
	if limit, ok := strings.CutPrefix(wants[0], "within "); ok {
		dur := must.Get(time.ParseDuration(limit))(t)
		d.TimeoutMS, wants = dur.Milliseconds(), wants[1:]
	}
	g, h := worktest.NewGrant(t, d)
	var log strings.Builder
	g.Log = textLog(&log)
	err := worktest.Run(t, Builtin(local)[typ], g)
	said := fmt.Sprint(err) + log.String()
	for _, want := range wants {
		do, rest, _ := strings.Cut(want, " ")
		name, value, valued := strings.Cut(want, "=")
		counted, count, _ := strings.Cut(want, "#")
		switch {
		case do == "up":
			wantUp(t, h, typ, err)
		case do == "down":
			wantDown(t, h, typ, rest, err)
		case do == "says" || do == "hides":
			if strings.Contains(said, rest) != (do == "says") {
				t.Errorf("it %s %q not: %s", do, rest, said)
			}
		case valued:
			if got := strconv.FormatFloat(h.LastValue(t, name), 'g', -1, 64); got != value {
				t.Errorf("%s is %s, want %s", name, got, value)
			}
		default:
			samples := h.Samples()
			if counted != "" {
				samples = h.Named(counted)
			}
			if got := strconv.Itoa(len(samples)); got != count {
				t.Errorf("%s samples of %s, want %s", got, counted, count)
			}
		}
	}
}

// targets are what the rounds look at.
func targets(t *testing.T) *strings.Replacer {
	t.Helper()
	web := serve(t, web)
	echo := listen(t, func(c net.Conn) {
		fmt.Fprint(c, "hello\n")
		line, _ := bufio.NewReader(c).ReadString('\n')
		fmt.Fprint(c, "you said ", line)
	})
	silent := listen(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }) // until the other side gives up
	chatty := listen(t, func(c net.Conn) {
		for _, err := c.Write([]byte(strings.Repeat("x", 4096))); err == nil; _,
			err = c.Write([]byte(strings.Repeat("x", 4096))) {
		}
	})
	return strings.NewReplacer("$WEB", web.URL, "$PLAIN", strings.TrimPrefix(web.URL, "http://"), "$DNS",
		serveDNS(t, zone).addr,
		"$ECHO", echo, "$SILENT", silent, "$CHATTY", chatty, "$GONE", listen(t, func(net.Conn) {}))
}

// web answers as the query says: status, text, pad with so many blanks, and hops, which are redirects; what is torn
// promises more than it sends.
func web(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	number := func(name string) int { n, _ := strconv.Atoi(q.Get(name)); return n }
	text := q.Get("text")
	switch hops := number("hops"); {
	case r.URL.Path == "/page":
		text = page
	case r.URL.Path == "/values":
		text = "[" + strings.Repeat("1,", 400) + "1]"
	case r.URL.Path == "/big":
		text = `"` + strings.Repeat("x", httpBody.usual) + `end"`
	case r.URL.Path == "/huge":
		text = strings.Repeat("# "+strings.Repeat("x", 1<<20)+"\n", scrapeBytes.usual>>20+1)
	case r.URL.Path == "/loop":
		http.Redirect(w, r, "/loop", http.StatusFound)
		return
	case hops > 0:
		http.Redirect(w, r, fmt.Sprint("/?text=", text, "&hops=", hops-1), http.StatusFound)
		return
	case r.URL.Path == "/torn":
		w.Header().Set("Content-Length", "100")
	}
	if status := number("status"); status > 0 {
		w.WriteHeader(status)
	}
	if http.StatusNoContent != number("status") {
		fmt.Fprint(w, text, strings.Repeat(" ", number("pad")))
	}
}

func TestPlainly(t *testing.T) {
	t.Parallel()
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
