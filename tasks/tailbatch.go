package tasks

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/work"
)

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
