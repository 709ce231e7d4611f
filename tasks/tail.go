package tasks

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/work"
)

// tailConfig of tail.
type tailConfig struct {
	// Paths are absolute, with * ? [ ] as in a shell. They should match the names of rotated files (app.log*), so that
	// a file that appears and disappears between two scans is not missed, but not copies of a followed file
	// (copytruncate).
	Paths []string `json:"paths"`
	// Match is a regular expression (RE2). In a matching line, the group named "value" is the value of a sample, and
	// the other named groups are its tags. Without such a group the sample is the count of matching lines. Without
	// match, lines are only counted.
	Match string        `json:"match"`
	Name  string        `json:"name"`  // of that sample; default "tail.line"
	Links bool          `json:"links"` // follow symbolic links that stay below the directories that the member allows
	From  string        `json:"from"`  // where to start in existing files if no position is known: "end" (default) or "start"
	Flush work.Duration `json:"flush"` // how often samples are emitted and the position is saved; default and minimum 1s
}

const (
	tailPoll       = time.Second // for changes without events, as on network file systems
	tailGather     = 20 * time.Millisecond
	tailRotateWait = 30 * time.Second // how long a file that was moved away is read on after it last grew
	tailMaxFiles   = 1000
	tailMaxLine    = 64 << 10
	tailMaxTag     = 1 << 10 // bytes
	tailMaxNumber  = 64      // bytes; more are no number that a person writes
	tailBurst      = 4 << 20 // bytes read of one file before the others have their turn
)

// tailRunner follows files. Each Run is one session; sessions share nothing.
type tailRunner struct {
	c          tailConfig
	allowed    Options
	places     []tailPlace // of the paths
	match      *regexp.Regexp
	flush      time.Duration
	rotateWait time.Duration
}

func (o Options) tail() work.Type {
	return work.Type{
		Name: "tail", Doc: "lines of log files, followed through rotation, position kept",
		New: typed(func(c tailConfig, _ work.Definition, f *faults) work.Runner {
			t := &tailRunner{c: c, allowed: o, rotateWait: tailRotateWait}
			t.check(f)
			return t
		}),
	}
}

func (t *tailRunner) check(f *faults) {
	if !tailSupported {
		f.add("", "let a Unix member run this task", "files can only be followed on systems with inodes")
	}
	if len(t.c.Paths) == 0 {
		f.add("paths", `such as ["/var/log/app/*.log"]`, "missing")
	}
	for i, p := range t.c.Paths {
		t.places = append(t.places, t.allowed.readable(p, i, "/var/log/app/*.log", t.c.Links, f))
	}
	t.checkMatch(f)
	if !slices.Contains([]string{"", "start", "end"}, t.c.From) {
		f.add("from", `"start" or "end"`, "unknown %q", t.c.From)
	}
	t.flush = cmp.Or(time.Duration(t.c.Flush), time.Second)
	if t.flush < time.Second || t.flush > time.Hour {
		f.add("flush", "", "%v is not between 1s and 1h", t.flush)
	}
}

func (t *tailRunner) checkMatch(f *faults) {
	if t.c.Match == "" {
		if t.c.Name != "" {
			f.add("name", "give match too, or leave name out: lines are counted as tail.lines",
				"there is nothing to name")
		}
		return
	}
	t.c.Name = cmp.Or(t.c.Name, "tail.line")
	re, err := regexp.Compile(t.c.Match)
	if err != nil {
		f.add("match", "such as took (?P<value>[0-9.]+)ms", "%s",
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return
	}
	t.match = re
}

// Run follows until ctx ends. Lines are emitted before the position is saved: after a crash some lines are counted
// again, none are lost; after an orderly end none are counted again.
func (t *tailRunner) Run(ctx context.Context, g *work.Grant) error {
	s, err := t.begin(ctx, g)
	if err != nil {
		return err
	}
	defer s.close()
	for {
		more := s.scan(ctx)
		if ctx.Err() != nil {
			return s.end(ctx)
		}
		if err := s.settleWhenDue(ctx); err != nil {
			return err
		}
		if !more {
			s.wait(ctx)
		}
	}
}

// end emits and saves the rest: the grant's lease outlasts ctx, and the token fences the position.
func (s *tailSession) end(ctx context.Context) error {
	err := s.settle(context.WithoutCancel(ctx))
	if errors.Is(err, work.ErrToken) {
		return err
	}
	return errors.Join(context.Cause(ctx), err)
}

// tailBatchPoints is how many points or series may wait before they are emitted without waiting for the flush.
const tailBatchPoints = 1000

// tailBatch gathers what lines say until the next flush.
type tailBatch struct {
	t       *tailRunner
	g       *work.Grant
	series  map[string]*tailSeries
	pending int // points
}

// tailSeries is one series: a count, or points.
type tailSeries struct {
	name   string
	tags   map[string]string
	count  int
	points []publish.Point
}

func newTailBatch(t *tailRunner, g *work.Grant) *tailBatch {
	return &tailBatch{t: t, g: g, series: map[string]*tailSeries{}}
}

var _ lineTaker = (*tailBatch)(nil)

// line counts a line and takes what the definition wants of it.
func (a *tailBatch) line(path string, b []byte, long bool) {
	if len(a.series) >= tailBatchPoints {
		a.flush()
	}
	a.count("tail.lines", path, 1)
	if long {
		a.count("tail.long_lines", path, 1)
	}
	re := a.t.match
	if re == nil {
		return
	}
	groups := re.FindSubmatch(b)
	if groups == nil {
		return
	}
	value, tags := "", map[string]string{"file": plain(path)}
	for i, name := range re.SubexpNames() {
		switch {
		case name == "value":
			value = string(groups[i])
		case name != "":
			tags[name] = a.tag(path, groups[i])
		}
	}
	if re.SubexpIndex("value") < 0 {
		a.in(a.t.c.Name, tags).count++
		return
	}
	v, err := strconv.ParseFloat(value[:min(len(value), tailMaxNumber)], 64)
	if err != nil || len(value) > tailMaxNumber {
		a.count("tail.unparsed_values", path, 1)
		return
	}
	s := a.in(a.t.c.Name, tags)
	s.points = append(s.points, publish.Point{AtMS: time.Now().UnixMilli(), Value: v})
	if a.pending++; a.pending >= tailBatchPoints {
		a.flush()
	}
}

// tag is the text of a group. One that is too long is cut: hundreds of lines wait, each with its own.
func (a *tailBatch) tag(path string, b []byte) string {
	if len(b) > tailMaxTag {
		a.count("tail.cut_tags", path, 1)
		b = b[:tailMaxTag]
	}
	return plain(strings.ToValidUTF8(string(b), "?"))
}

// count adds to a count of a file; "" is the whole task.
func (a *tailBatch) count(name, path string, n int) {
	var tags map[string]string
	if path != "" {
		tags = map[string]string{"file": plain(path)}
	}
	a.in(name, tags).count += n
}

// in finds or makes the series.
func (a *tailBatch) in(name string, tags map[string]string) *tailSeries {
	var key strings.Builder
	key.WriteString(name)
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		key.WriteString("\x00" + k + "\x00" + tags[k])
	}
	s, ok := a.series[key.String()]
	if !ok {
		s = &tailSeries{name: name, tags: tags}
		a.series[key.String()] = s
	}
	return s
}

func (a *tailBatch) waiting() bool { return len(a.series) > 0 }

// flush emits everything, in the order of names and tags.
func (a *tailBatch) flush() {
	for _, key := range slices.Sorted(maps.Keys(a.series)) {
		s := a.series[key]
		if s.count > 0 {
			a.g.Value(s.name, float64(s.count), s.tags)
		}
		if len(s.points) > 0 {
			a.g.Emit(s.name, s.tags, s.points...)
		}
	}
	clear(a.series)
	a.pending = 0
}
