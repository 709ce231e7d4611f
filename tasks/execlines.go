package tasks

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/rota-run/rota/internal/safetext"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/work"
)

const maxExecLine = 64 << 10

// execLines is the standard output of a program: lines of JSON become samples as they come, other lines are counted. It
// is written to by one goroutine, and read after that has ended.
type execLines struct {
	emit    func(publish.Sample)
	output  int    // bytes that are taken
	points  int    // points that are taken
	taken   int    // points
	rest    []byte // the line that has not ended
	skip    bool   // in a line that is too long
	total   int
	ignored int // lines that are no JSON object
	// malformed counts lines that begin like a sample and are none, or are too long; dropped counts bytes, over samples
	// beyond the bounds.
	malformed, dropped, over int
}

// newExecLines emits samples under the limits of c. What a program prints may quote others, so names and tags are made
// plain.
func newExecLines(c execConfig, g *work.Grant) *execLines {
	return &execLines{
		emit:   func(s publish.Sample) { g.Emit(plain(s.Name), plainTags(s.Tags), s.Points...) },
		output: c.MaxOutput, points: c.MaxPoints,
	}
}

// exceeded names the limit that the program went beyond, nil if none.
func (l *execLines) exceeded() error {
	switch {
	case l.dropped > 0:
		return execOutput.exceeded("the program wrote", l.output)
	case l.over > 0:
		return execPoints.exceeded("the program wrote", l.points)
	}
	return nil
}

// Write never fails: a program must not block or die because of what it prints.
func (l *execLines) Write(b []byte) (int, error) {
	n := len(b)
	if room := l.output - l.total; len(b) > room {
		l.dropped += len(b) - room
		b = b[:room]
	}
	l.total += len(b)
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			l.gather(b)
			return n, nil
		}
		l.gather(b[:i])
		l.end()
		b = b[i+1:]
	}
}

func (l *execLines) gather(b []byte) {
	if len(l.rest)+len(b) > maxExecLine {
		l.skip = true
		return
	}
	l.rest = append(l.rest, b...)
}

// end takes a whole line.
func (l *execLines) end() {
	line := bytes.TrimSpace(l.rest)
	switch {
	case l.skip:
		l.malformed++
	case len(line) == 0:
	case line[0] != '{':
		l.ignored++
	default:
		l.sample(line)
	}
	l.rest, l.skip = l.rest[:0], false
}

func (l *execLines) sample(line []byte) {
	var s publish.Sample
	if err := json.Unmarshal(line, &s); err != nil || s.Name == "" || len(s.Points) == 0 {
		l.malformed++
		return
	}
	if len(s.Points) > l.points-l.taken {
		l.over++
		return
	}
	l.taken += len(s.Points)
	l.emit(s)
}

// flush takes a last line without newline; one that was cut at the bound is not whole.
func (l *execLines) flush() {
	if l.dropped > 0 {
		l.skip = l.skip || len(l.rest) > 0
	}
	if len(l.rest) > 0 || l.skip {
		l.end()
	}
}

// lastBytes keeps the end of what a program says on standard error.
type lastBytes struct {
	limit int
	b     []byte
}

func (t *lastBytes) Write(b []byte) (int, error) {
	t.b = append(t.b, b[max(0, len(b)-t.limit):]...)
	t.b = t.b[max(0, len(t.b)-t.limit):]
	return len(b), nil
}

// lastLine is short and printable.
func (t *lastBytes) lastLine() string {
	s := strings.TrimSpace(strings.ToValidUTF8(string(t.b), "?"))
	return safetext.Cut(s[strings.LastIndexByte(s, '\n')+1:], 200)
}
