package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// The scripts in testdata/placement: worked examples, one subject per file. Run with -rewrite to write the outcomes
// again.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/placement", func(t *testing.T, path string) {
		s := &script{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.run(t, d) })
	})
}

// script is a world that a text changes, step by step.
type script struct{ w world }

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "members": // one line per member, new or changed: a weight=200 capacity=3 draining zone=x
		for line := range strings.Lines(d.Input) {
			s.member(t, strings.Fields(line))
		}
		return ""
	case "gone": // gone a b: they leave, their items have no owner
		for _, a := range d.CmdArgs {
			s.gone(t, a.Key)
		}
		return ""
	case "classes": // one line per class: c weight=2 pin=a spread=zone gpu=yes
		for line := range strings.Lines(d.Input) {
			s.class(t, strings.Fields(line))
		}
		return ""
	case "items": // items class=c owner=a held, then the names; without owner: nobody's
		s.items(t, d)
		return ""
	case "place": // place budget=2: plans, carries the plan out, shows who owns what
		return s.place(t, d)
	case "explain": // explain class=c
		return s.explain(t, d)
	default:
		t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
		return ""
	}
}

func (s *script) member(t *testing.T, fields []string) {
	m := Member{ID: fields[0]}
	for _, f := range fields[1:] {
		key, value, _ := strings.Cut(f, "=")
		switch key {
		case "weight":
			m.Weight = number(t, value)
		case "capacity":
			m.Capacity = number(t, value)
		case "draining":
			m.Draining = true
		case "closed":
			m.Closed = true
		default:
			m.Labels = append(m.Labels, Label{key, value})
		}
	}
	at, found := s.find(m.ID)
	if found {
		s.w.members[at] = m
		return
	}
	s.w.members = slices.Insert(s.w.members, at, m)
	for i := range s.w.items {
		if s.w.items[i].Owner >= at {
			s.w.items[i].Owner++
		}
	}
}

func (s *script) find(member string) (int, bool) {
	return slices.BinarySearchFunc(s.w.members, member, func(m Member, id string) int { return cmp.Compare(m.ID, id) })
}

func (s *script) gone(t *testing.T, member string) {
	at, found := s.find(member)
	if !found {
		t.Fatalf("no member %q", member)
	}
	s.w.members = slices.Delete(s.w.members, at, at+1)
	for i := range s.w.items {
		switch o := &s.w.items[i].Owner; {
		case *o == at:
			*o = -1
		case *o > at:
			*o--
		}
	}
}

func (s *script) class(t *testing.T, fields []string) {
	c := Class{Key: fields[0], Weight: 1}
	for _, f := range fields[1:] {
		key, value, _ := strings.Cut(f, "=")
		switch key {
		case "weight":
			c.Weight = number(t, value)
		case "pin":
			c.Pin = value
		case "spread":
			c.SpreadOver = value
		default:
			c.Selector = append(c.Selector, Label{key, value})
		}
	}
	if at := s.classAt(c.Key); at >= 0 {
		s.w.classes[at] = c
		return
	}
	if n := len(s.w.classes); n > 0 && s.w.classes[n-1].Key > c.Key {
		t.Fatalf("class %q is out of order", c.Key)
	}
	s.w.classes = append(s.w.classes, c)
}

func (s *script) classAt(key string) int {
	return slices.IndexFunc(s.w.classes, func(c Class) bool { return c.Key == key })
}

func (s *script) items(t *testing.T, d *datadriven.TestData) {
	it := Item{Owner: -1, Movable: !d.HasArg("held")}
	var class, owner string
	d.ScanArgs(t, "class", &class)
	if it.Class = s.classAt(class); it.Class < 0 {
		t.Fatalf("%s: no class %q", d.Pos, class)
	}
	if d.MaybeScanArgs(t, "owner", &owner) {
		it.Owner, _ = s.find(owner)
	}
	for _, id := range strings.Fields(d.Input) {
		it.ID = id
		s.w.items = append(s.w.items, it)
	}
	slices.SortFunc(s.w.items, func(a, b Item) int { return cmp.Compare(a.ID, b.ID) })
}

func (s *script) place(t *testing.T, d *datadriven.TestData) string {
	budget := -1
	d.MaybeScanArgs(t, "budget", &budget)
	p := Place(s.w.view(), int64(budget))
	s.w.apply(t, p)
	var b strings.Builder
	for _, m := range p.Moves {
		fmt.Fprintf(&b, "%s: %s -> %s\n", m.Item, s.name(m.From), s.name(m.To))
	}
	if len(p.Moves) == 0 {
		b.WriteString("no moves\n")
	}
	if p.Deferred > 0 {
		fmt.Fprintf(&b, "deferred: %d\n", p.Deferred)
	}
	b.WriteString("--\n")
	for m := range s.w.members {
		fmt.Fprintf(&b, "%s:%s\n", s.name(m), s.owned(m))
	}
	if rest := s.owned(-1); rest != "" {
		fmt.Fprintf(&b, "nobody:%s\n", rest)
	}
	return b.String()
}

func (s *script) name(m int) string {
	if m < 0 {
		return "nobody"
	}
	return s.w.members[m].ID
}

func (s *script) owned(m int) (out string) {
	for _, i := range s.w.items {
		if i.Owner == m {
			out += " " + i.ID
		}
	}
	return out
}

func (s *script) explain(t *testing.T, d *datadriven.TestData) string {
	var class string
	d.ScanArgs(t, "class", &class)
	v := s.w.view()
	r := Explain(v, s.classAt(class))
	out := fmt.Sprintf("rule: %s\ntext: %s\n", r.Rule, r.Text)
	if r.Try != "" {
		out += fmt.Sprintf("try:  %s\n", r.Try)
	}
	return out
}

func number(t *testing.T, s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatalf("read number: %v", err)
	}
	return n
}
