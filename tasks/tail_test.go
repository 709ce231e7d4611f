package tasks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/work"
	"github.com/rota-run/rota/work/worktest"
)

// below lets tests follow files of their own.
var below = Options{TailAllow: []string{os.TempDir()}}

// opened is a file that was found.
func opened(path string) (*tailFile, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	return tailFound{path: path, root: filepath.Dir(path), rel: filepath.Base(path), info: info}.open()
}

// follower runs tail on one host, and again after a stop.
type follower struct {
	t     *testing.T
	g     *work.Grant
	h     *worktest.Host
	r     *tailRunner
	stop  context.CancelCauseFunc
	ended chan error
}

// follow begins to tail; edit may change the runner's times before.
func follow(t *testing.T, config object, edit func(*tailRunner)) *follower {
	t.Helper()
	g, h := worktest.NewGrant(t, define(t, config))
	r := must.Get(Builtin(below)["tail"].New(g.Definition))(t)
	f := &follower{t: t, g: g, h: h, r: r.(*tailRunner)}
	f.r.flush = time.Millisecond
	if edit != nil {
		edit(f.r)
	}
	f.start()
	return f
}

func (f *follower) start() {
	ctx, stop := context.WithCancelCause(f.t.Context())
	f.stop, f.ended = stop, make(chan error, 1)
	go func(ended chan error) { ended <- f.r.Run(ctx, f.g) }(f.ended)
}

// end stops in an orderly way.
func (f *follower) end() {
	f.t.Helper()
	f.stop(work.CauseMoved)
	if err := <-f.ended; !errors.Is(err, work.CauseMoved) {
		f.t.Fatalf("tail ended with %v, want the cause of the stop", err)
	}
}

// sum adds up all points of a name.
func sum(h *worktest.Host, name string) (total float64) {
	for _, s := range h.Named(name) {
		for _, p := range s.Points {
			total += p.Value
		}
	}
	return total
}

// waitSum waits until the points of a name add up to at least n, then wants exactly n.
func (f *follower) waitSum(name string, n float64) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	f.h.Wait(ctx, f.t, func(h *worktest.Host) bool { return sum(h, name) >= n })
	if got := sum(f.h, name); got != n {
		f.t.Fatalf("%s adds up to %v, want %v", name, got, n)
	}
}

func (f *follower) waitPosition(has string) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	f.h.Wait(ctx, f.t, func(h *worktest.Host) bool { return strings.Contains(string(h.Position("test")), has) })
}

func write(t *testing.T, path, text string) {
	t.Helper()
	f := must.Get(os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))(t)
	must.Succeed(t, must.Err(f.WriteString(text)))
	must.Succeed(t, f.Close())
}

// overwrite changes a file in place, at once. Where the place is negative it is before the end.
func overwrite(t *testing.T, path string, at int64, text string) {
	t.Helper()
	f := must.Get(os.OpenFile(path, os.O_WRONLY, 0))(t)
	if at < 0 {
		info := must.Get(f.Stat())(t)
		at += info.Size()
	}
	must.Succeed(t, must.Err(f.WriteAt([]byte(text), at)))
	must.Succeed(t, f.Close())
	must.Succeed(t, os.Chtimes(path, time.Time{}, time.Now().Add(time.Second))) // the clock of a file system is coarse
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	must.Succeed(t, os.Rename(from, to))
}

// TestTailStories plays testdata/tail.txt: what people and programs do to files, and what tail makes of it.
func TestTailStories(t *testing.T) {
	t.Parallel()
	text := must.Get(os.ReadFile("testdata/tail.txt"))(t)
	_, all, _ := strings.Cut(string(text), "\nstory: ")
	for story := range strings.SplitSeq(all, "\nstory: ") {
		name, acts, _ := strings.Cut(story, "\n")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &tailStory{t: t, dir: t.TempDir()}
			for line := range strings.Lines(acts) {
				if act := strings.Fields(line); len(act) > 0 {
					s.play(act, strings.TrimSuffix(line, "\n"))
				}
			}
			s.end()
		})
	}
}

// tailStory is a story in a directory.
type tailStory struct {
	*follower
	t   *testing.T
	dir string
}

func (s *tailStory) play(act []string, line string) {
	s.t.Helper()
	path := func(i int) string { return filepath.Join(s.dir, act[i]) }
	switch act[0] {
	case "follow":
		s.follower = follow(s.t, object{"paths": []string{path(1)}}, func(r *tailRunner) {
			if slices.Contains(act, "hurry") { // it does not wait for the writer of a rotated file
				r.rotateWait = 0
			}
		})
		s.waitPosition("files")
	case "write":
		_, rest, _ := strings.Cut(line, act[1]+" ")
		write(s.t, path(1), strings.ReplaceAll(rest, `\n`, "\n"))
	case "fill":
		write(s.t, path(1), strings.Repeat("a line of some length\n", 50))
	case "rename":
		rename(s.t, path(1), path(2))
	case "copy":
		b, err := os.ReadFile(path(1))
		must.Succeed(s.t, err)
		write(s.t, path(2), string(b))
	case "over": // from a place on, or before the end
		at, err := strconv.ParseInt(act[2], 10, 64)
		must.Succeed(s.t, err)
		_, rest, _ := strings.Cut(line, act[2]+" ")
		overwrite(s.t, path(1), at, strings.ReplaceAll(rest, `\n`, "\n"))
	case "link":
		must.Succeed(s.t, os.Symlink(path(1), path(2)))
	case "cut":
		must.Succeed(s.t, os.Truncate(path(1), 0))
	case "remove":
		must.Succeed(s.t, os.Remove(path(1)))
	case "mkdir":
		must.Succeed(s.t, os.Mkdir(path(1), 0o700))
	case "position":
		s.waitPosition(act[1])
	case "stop":
		s.end()
	case "start":
		s.start()
	case "wait", "again": // again: after one more stop nothing is counted twice
		n, err := strconv.ParseFloat(act[len(act)-1], 64)
		must.Succeed(s.t, err)
		if act[0] == "wait" {
			s.waitSum(act[1], n)
			return
		}
		s.end()
		s.start()
		write(s.t, filepath.Join(s.dir, "app.log"), "last\n")
		s.waitSum("tail.lines", n+1)
	default:
		s.t.Fatalf("no act is %q", line)
	}
}

func TestTailValues(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "app.log")
	write(t, log, "GET took 12.5ms\r\nPOST took 7ms\nnoise\nGET took ...ms\n")
	f := follow(t, object{"paths": []string{log}, "from": "start", "name": "app.took_ms",
		"match": `^(?P<method>\w+) took (?P<value>[0-9.]+)ms$`}, nil)
	f.waitSum("tail.lines", 4)
	f.end()
	got := f.h.Named("app.took_ms")
	if len(got) != 2 || got[0].Tags["method"] != "GET" || got[0].Points[0].Value != 12.5 ||
		got[1].Points[0].Value != 7 {
		t.Errorf("got %v, want 12.5 of GET and 7 of POST", got)
	}
	if got := sum(f.h, "tail.unparsed_values"); got != 1 {
		t.Errorf("%v values unparsed, want that of three dots", got)
	}
}

func TestTailCountsMatches(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "app.log")
	write(t, log, "error a\nwarn b\nerror c\nfine\n")
	f := follow(t, object{"paths": []string{log}, "from": "start", "match": `^(?P<level>error|warn)`}, nil)
	f.waitSum("tail.lines", 4)
	f.end()
	got := f.h.Named("tail.line")
	if len(got) != 2 || got[0].Tags["level"] != "error" || got[0].Points[0].Value != 2 || got[1].Points[0].Value != 1 {
		t.Errorf("got %v, want two errors and one warning", got)
	}
	if got := f.h.Last(t, "tail.lines").Tags["file"]; got != log {
		t.Errorf("the tag file is %q, want %q", got, log)
	}
}

// What waits is bounded in points, whatever flush says, and series with like texts are two.
func TestTallyIsBounded(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "app.log")
	write(t, log, strings.Repeat("1\n", tailBatchPoints))
	f := follow(t, object{"paths": []string{log}, "from": "start", "name": "n", "match": `^(?P<value>\d+)$`},
		func(r *tailRunner) { r.flush = time.Hour })
	f.waitSum("n", tailBatchPoints)
	f.end()
	a := newTailBatch(f.r, f.g)
	if a.in("n", map[string]string{"a": "bc"}) == a.in("n", map[string]string{"ab": "c"}) {
		t.Error("two series are one")
	}
}

// A directory that appears later is watched from then on.
func TestTailWatchesWhatAppears(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "later")
	w := newTailWatch(slog.New(slog.DiscardHandler))
	defer w.close()
	w.add(dir)
	must.Succeed(t, os.Mkdir(dir, 0o700))
	w.add(dir)
	write(t, filepath.Join(dir, "app.log"), "1\n")
	select {
	case <-w.changed:
	case <-time.After(time.Minute): // only a failure waits for it
		t.Error("nothing is told of a file in it")
	}
}

// TestTailLongValues: a number is limited before it is parsed, a tag before it waits.
func TestTailLongValues(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "app.log")
	write(t, log, strings.Repeat("1", tailMaxNumber+1)+"ms\n"+strings.Repeat("x", tailMaxTag+1)+" 7ms\n\x1b 1ms\n")
	f := follow(t, object{"paths": []string{log}, "from": "start", "match": `(?P<who>\S* )?(?P<value>\d+)ms`}, nil)
	f.waitSum("tail.lines", 3)
	f.waitSum("tail.unparsed_values", 1)
	f.waitSum("tail.cut_tags", 1)
	f.waitSum("tail.line", 8)
	f.end()
	for _, s := range f.h.Named("tail.line") {
		if who := s.Tags["who"]; len(who) > tailMaxTag || plain(who) != who {
			t.Errorf("got a tag of %d bytes: %.20q", len(who), who)
		}
	}
}

func TestTailLongLines(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "app.log")
	f := follow(t, object{"paths": []string{log}, "match": "end$"}, nil)
	f.waitPosition("files")
	write(t, log, strings.Repeat("x", 3*tailMaxLine)+" end\nshort end\n"+strings.Repeat("x", tailMaxLine)+"\n")
	f.waitSum("tail.lines", 3)
	f.end()
	if long, matched := sum(f.h, "tail.long_lines"), sum(f.h, "tail.line"); long != 1 || matched != 1 {
		t.Errorf("%v long lines and %v matches, want one each: what is cut cannot match", long, matched)
	}
}

func TestTailStopsForANewerToken(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "app.log")
	f := follow(t, object{"paths": []string{log}}, nil)
	f.waitPosition("files")
	f.h.SetPosition("test", 2, []byte(`{"v":1}`))
	write(t, log, "1\n")
	if err := <-f.ended; !errors.Is(err, work.ErrToken) {
		t.Errorf("got %v, want that the token is old", err)
	}
	f.stop(nil)
	if got := string(f.h.Position("test")); got != `{"v":1}` {
		t.Errorf("the position of the newer owner became %s", got)
	}
}

func TestTailGoesOnWhenPositionsCannotBeSaved(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "app.log")
	f := follow(t, object{"paths": []string{log}}, nil)
	f.waitPosition("files")
	f.h.Fail(errors.New("the store is away"))
	write(t, log, "1\n")
	f.waitSum("tail.lines", 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	f.h.Wait(ctx, t, func(h *worktest.Host) bool { return sum(h, "tail.position_errors") > 0 })
	f.h.Fail(nil)
	f.waitPosition(`"offset":2`)
	f.end()
}

// witness is a host that notes how many lines had been emitted when it was to save the position behind the first.
type witness struct {
	*worktest.Host
	saved chan float64
}

func (w witness) SavePosition(ctx context.Context, g *work.Grant, p []byte) error {
	if strings.Contains(string(p), `"offset":2`) {
		select {
		case w.saved <- sum(w.Host, "tail.lines"):
		default:
		}
	}
	return w.Host.SavePosition(ctx, g, p)
}

// After a crash between the two a line is counted again; the other way round it would be lost.
func TestTailEmitsBeforeItSaves(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "app.log")
	g, h := worktest.NewGrant(t, define(t, object{"paths": []string{log}, "from": "start"}))
	w := witness{h, make(chan float64, 1)}
	g.Host = w
	r := must.Get(Builtin(below)["tail"].New(g.Definition))(t)
	write(t, log, "1\n")
	f := &follower{t: t, g: g, h: h, r: r.(*tailRunner)}
	f.start()
	if got := <-w.saved; got != 1 {
		t.Errorf("%v lines were emitted when the position behind the first was saved", got)
	}
	f.end()
}

func TestTailRefusesAPositionItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for _, p := range []string{`{"v":2}`, `nonsense`} {
		g, h := worktest.NewGrant(t, define(t, object{"paths": []string{filepath.Join(t.TempDir(), "none")}}))
		h.SetPosition("test", 1, []byte(p))
		if err := worktest.Run(t, Builtin(below)["tail"], g); err == nil ||
			!strings.Contains(err.Error(), "decode position") {
			t.Errorf("%s: got %v", p, err)
		}
	}
}

// In any order of appends in pieces, rotations, cuts and restarts, each line is taken exactly once.
func TestTailNoLineLostNorDoubled(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 1))
			log := filepath.Join(t.TempDir(), "app.log")
			f := follow(t, object{"paths": []string{log + "*"}, "match": `^n=(?P<value>\d+)`, "name": "n"}, nil)
			f.waitPosition("files")
			n, lines, rest, generation, stopped := 0, 0, "", 0, false
			resume := func() {
				if stopped {
					f.start()
					stopped = false
				}
			}
			for range 40 {
				switch rnd.IntN(8) {
				case 0: // rename; the writer ends its line first
					if rest != "" {
						write(t, log, rest)
						lines, rest = lines+strings.Count(rest, "\n"), ""
					}
					if _, err := os.Stat(log); err == nil {
						generation++
						rename(t, log, fmt.Sprintf("%s.%d", log, generation))
					}
				case 1: // copytruncate: what was not read would be lost, so it is read before
					if rest == "" && !stopped && lines > 0 {
						f.waitLines(lines)
						_ = os.Truncate(log, 0)
					}
				case 2:
					resume()
				case 3:
					if !stopped {
						f.end()
						stopped = true
					}
				default:
					for range rnd.IntN(20) {
						n++
						text := rest + fmt.Sprintf("n=%d %s\n", n, strings.Repeat("x", rnd.IntN(200)))
						cut := len(text)
						if rnd.IntN(4) == 0 {
							cut = rnd.IntN(len(text))
						}
						write(t, log, text[:cut])
						rest = text[cut:]
						lines += strings.Count(text[:cut], "\n")
					}
				}
			}
			if rest != "" {
				write(t, log, rest)
				lines += strings.Count(rest, "\n")
			}
			resume()
			f.waitLines(lines)
			f.end()
			f.wantOnceEach(n)
		})
	}
}

// waitLines waits until so many values were taken.
func (f *follower) waitLines(n int) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	f.h.Wait(ctx, f.t, func(h *worktest.Host) bool { return sum(h, "tail.lines") >= float64(n) })
}

func (f *follower) wantOnceEach(n int) {
	f.t.Helper()
	seen := map[int]int{}
	for _, s := range f.h.Named("n") {
		for _, p := range s.Points {
			seen[int(p.Value)]++
		}
	}
	for i := 1; i <= n; i++ {
		if seen[i] != 1 {
			f.t.Errorf("line %d was taken %d times", i, seen[i])
		}
	}
	if len(seen) != n {
		f.t.Errorf("%d lines, want %d", len(seen), n)
	}
}

// FuzzTailPosition feeds any bytes as the stored position.
func FuzzTailPosition(f *testing.F) {
	f.Add([]byte(`{"v":1,"files":[{"path":"/x","offset":-5,"sum":""}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		marks, err := decodeMarks(b)
		if err != nil {
			return
		}
		path := filepath.Join(t.TempDir(), "x")
		write(t, path, "some text\n")
		file := must.Get(opened(path))(t)
		defer file.f.Close()
		for _, m := range marks {
			if file.to(m) && (m.Offset < 0 || m.Offset > 10) {
				t.Fatalf("went to %d of a file of 10 bytes", m.Offset)
			}
		}
	})
}
