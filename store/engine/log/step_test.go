package log

import (
	"fmt"
	"testing"
)

// TestAState of pages of three: what the head has, gives away and forgets.
func TestAState(t *testing.T) {
	t.Parallel()
	says := func(s state) string {
		text := fmt.Sprintf("base %d, cut %d, end %d, gives", s.base, s.cut, s.end())
		for _, p := range s.full() {
			text += fmt.Sprintf(" %d+%d", p.after, len(p.entries))
		}
		return text
	}
	entries := func(n int) []entry { return make([]entry, n) }
	s, _ := state{size: 3}.added("a", entries(7))
	seeded := state{size: 3}.begun(4, "seed")
	used, _ := seeded.added("a", entries(1))
	for _, c := range []struct {
		got  state
		want string
	}{
		{s, "base 0, cut 0, end 7, gives 0+3 3+3"},
		{s.trimmed(4), "base 4, cut 3, end 7, gives 3+3"},
		{s.trimmed(4).trimmed(2), "base 4, cut 3, end 7, gives 3+3"},                   // it never goes back
		{s.trimmed(9), "base 7, cut 6, end 7, gives"},                                  // nor behind the end
		{state{size: 3, base: 3, tail: entries(7)}, "base 3, cut 0, end 7, gives 3+3"}, // what is trimmed is not written
		{s.without(), "base 0, cut 6, end 7, gives"},
		{seeded, "base 4, cut 4, end 4, gives"},
		{used, "base 4, cut 4, end 5, gives"},
	} {
		if text := says(c.got); text != c.want {
			t.Errorf("%s, want %s", text, c.want)
		}
	}
	if s.unused() || !seeded.unused() || used.unused() {
		t.Errorf("unused: %t, %t, %t", s.unused(), seeded.unused(), used.unused())
	}
	if got := used.whose(4, "a"); got != nobodys {
		t.Errorf("what is before the seed counts as %d", got)
	}
	if got := used.whose(5, "a"); got != ours {
		t.Errorf("what is behind the seed counts as %d", got)
	}
	spare := s
	spare.tail = append(make([]entry, 0, 20), s.tail...)
	one, _ := spare.added("one", entries(1))
	two, _ := spare.added("two", entries(1))
	if one.tail[7].name != "one" || two.tail[7].name != "two" {
		t.Error("two states share what was added to one")
	}
	if ends := fmt.Sprint(s.between(1, 9, 2), s.between(3, 9, 9)); ends != "[3 6] [6 9]" {
		t.Errorf("behind 1 and 3 are the pages %s", ends)
	}
}
