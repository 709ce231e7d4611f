package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// whole are the lines of a reader that reads one partition after the other, each under a token of its own.
func whole(s *stream) (lines []line) {
	for i, p := range s.all {
		for _, c := range p.changes {
			lines = append(lines, line{"a", p.name, uint64(i + 1), c})
		}
	}
	return lines
}

func text(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "\n%s\n", l)
	}
	return b.String()
}

// The check finds what is lost, doubled, or out of order, and passes over what readers pass over.
func TestCheck(t *testing.T) {
	t.Parallel()
	s := newStream(config{Partitions: 3, Times: 8, Each: 50})
	good := whole(s)
	last := func(p *partition) int {
		return slices.IndexFunc(good, func(l line) bool { return l.change == p.changes[len(p.changes)-1] })
	}
	parent := s.all[slices.IndexFunc(s.all, func(p *partition) bool {
		return len(p.children) > 0 && len(p.changes) > 3 && len(p.children[0].changes) > 0
	})]
	end, child := last(parent), last(parent.children[0])
	under := func(l line, token uint64) line { l.Token = token; return l }
	edit := func(change func(lines []line) []line) string { return text(change(slices.Clone(good))) }
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"good":                {text(good), nil},
		"one is lost":         {edit(func(l []line) []line { return slices.Delete(l, end-1, end) }), errLost},
		"the end is lost":     {edit(func(l []line) []line { return slices.Delete(l, end, end+1) }), errLost},
		"all is lost":         {"", errLost},
		"twice under a token": {edit(func(l []line) []line { return slices.Insert(l, end, l[end-1]) }), errTwice},
		"again later": {edit(func(l []line) []line {
			return slices.Insert(l, end+1, under(l[end-1], 1000), under(l[end], 1000))
		}), nil},
		"again, and not on": {edit(func(l []line) []line { return slices.Insert(l, end, under(l[end-2], 1000)) }),
			errLost},
		"an old token": {edit(func(l []line) []line {
			return slices.Insert(l, end+1, under(l[end-2], 1000), under(l[end-1], 1))
		}), nil},
		"two out of order": {edit(func(l []line) []line { l[end], l[end-1] = l[end-1], l[end]; return l }), errLost},
		"a child comes first": {edit(func(l []line) []line { return append(slices.Delete(l, end, end+1), good[end]) }),
			errContinue},
		"of another one": {edit(func(l []line) []line { l[child].Partition = parent.name; return l }), errForeign},
		"of nobody":      {edit(func(l []line) []line { l[child].Partition = "x"; return l }), errForeign},
		"cut and again": {edit(func(l []line) []line { return l[:end] }) + "\n" + good[end].String()[:9] + "\n" +
			text(append([]line{under(good[end], 1000)}, good[end+1:]...)), nil},
	} {
		if c.text == text(good) && c.want != nil {
			t.Errorf("%s: it is the good one", name)
		}
		if r, err := verify(s, strings.NewReader(c.text)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	r, err := verify(s, strings.NewReader(text(good)))
	if err != nil || r.Changes != 400 || r.Partitions != len(s.all) || r.Again+r.Tokens+r.Old+r.Cut != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
