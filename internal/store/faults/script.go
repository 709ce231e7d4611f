package faults

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// read-only: the words of the script.
var outcomeNames = map[string]Outcome{
	"refuse": Refused, "lose-request": LostRequest, "lose-reply": LostReply, "late": Late, "hold": Held, "pass": Pass,
}

var opNames = []string{"*", "get", "put", "delete", "list", "watch", "append", "read", "snapshot", "save", "trim",
	"watchlog", "session", "sessionput", "sessionclose"}

// line is one line of a script.
type line struct {
	outcome Outcome
	op, key string
	skip    int // calls that match but come too early
	times   int // calls that are left; below 0: no end
}

func (l *line) matches(c Call) bool {
	if l.op != "*" && l.op != c.Op {
		return false
	}
	ok, _ := path.Match(l.key, c.Key) // the pattern was checked when it was read
	return ok || l.key == ""
}

// take reports whether the line decides about a call that matches.
func (l *line) take() bool {
	switch {
	case l.skip > 0:
		l.skip--
		return false
	case l.times == 0:
		return false
	case l.times > 0:
		l.times--
	}
	return true
}

// Script makes a plan from text. Each line is
//
//	OUTCOME OP [key=GLOB] [after=N] [times=N]
//
// with an outcome of refuse, lose-request, lose-reply, late, hold, pass, and an op of Call or *. A line applies to the
// calls that match it, after the first N, N times or without end. The first applicable line decides; calls without one
// pass. Empty lines and lines that begin with # are skipped.
func Script(text string) (Plan, error) {
	var lines []*line
	for i, raw := range strings.Split(text, "\n") {
		raw = strings.TrimSpace(raw)
		if raw == "" || strings.HasPrefix(raw, "#") {
			continue
		}
		l, err := parseLine(strings.Fields(raw))
		if err != nil {
			return nil, fmt.Errorf("script line %d %q: %w", i+1, raw, err)
		}
		lines = append(lines, l)
	}
	var mu sync.Mutex
	return func(c Call) Outcome {
		mu.Lock()
		defer mu.Unlock()
		for _, l := range lines {
			if l.matches(c) && l.take() {
				return l.outcome
			}
		}
		return Pass
	}, nil
}

func parseLine(words []string) (*line, error) {
	if len(words) < 2 {
		return nil, fmt.Errorf("want an outcome and an op, like %q", "lose-reply append times=1")
	}
	l := &line{op: words[1], times: -1}
	var known bool
	if l.outcome, known = outcomeNames[words[0]]; !known {
		return nil, fmt.Errorf("no outcome %q: try one of %v", words[0], slices.Sorted(maps.Keys(outcomeNames)))
	}
	if !slices.Contains(opNames, l.op) {
		return nil, fmt.Errorf("no op %q: try one of %v", l.op, opNames)
	}
	for _, word := range words[2:] {
		if err := l.option(word); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *line) option(word string) error {
	name, value, _ := strings.Cut(word, "=")
	if name == "key" {
		l.key = value
		_, err := path.Match(value, "")
		return err
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		return fmt.Errorf("option %q: want a number from 0", word)
	}
	switch name {
	case "times":
		l.times = n
	case "after":
		l.skip = n
	default:
		return fmt.Errorf("no option %q: try key=, after=, times=", name)
	}
	return nil
}
