package guarding

import (
	"fmt"
	"strings"
	"testing"
)

// TestDuties plays what a guardian hears, and wants its next duty after each.
func TestDuties(t *testing.T) {
	t.Parallel()
	for name, story := range map[string]string{
		"dismissed":                   "→listen guard=1→listen dismiss→over",
		"the line is closed, it runs": "guard=1→listen closed→watch release=1→watch",
		"it dies":                     "guard=1→listen guard=2→listen closed→watch ended→programs cleared→sessions release=1→sessions release=2→over",
		"a program may be left":       "guard=1→listen closed→watch ended→programs left→hold release=1→hold",
		"it had nothing":              "closed→watch ended→programs cleared→over",
		"it ended its session itself": "guard=1→listen release=1→listen closed→watch ended→programs cleared→over",
		"released after the line":     "guard=1→listen closed→watch ended→programs release=1→programs cleared→over",
		"one session twice":           "guard=1→listen guard=1→listen closed→watch ended→programs cleared→sessions release=1→over",
	} {
		w := State{}
		for _, step := range strings.Fields(story) {
			what, want, _ := strings.Cut(step, "→")
			what, number, _ := strings.Cut(what, "=")
			var id uint64
			_, _ = fmt.Sscan(number, &id) // 0 where there is none
			switch what {
			case "guard":
				w = w.Guard(Held[string]{ID: id, Key: "k"})
			case "release":
				w = w.Release(id)
			case "dismiss":
				w = w.Dismiss()
			case "closed":
				w = w.LineClosed()
			case "ended":
				w = w.ParentEnded()
			case "cleared", "left":
				w = w.ProgramsEnded(what == "cleared")
			}
			if got := [...]string{"listen", "watch", "programs", "sessions", "hold", "over"}[w.Next()]; got != want {
				t.Errorf("%s: after %s the duty is %s, want %s", name, step, got, want)
			}
		}
	}
}

// TestBook: a new guardian hears of what is held and was not released; no two sessions have one number, and a book is
// a value.
func TestBook(t *testing.T) {
	t.Parallel()
	var b Book[string]
	b, first := b.Guard("a")
	b, second := b.Guard("b")
	before := b
	b = b.Release(first.ID)
	b, third := b.Guard("c")
	if got := fmt.Sprint(b.Held()); got != fmt.Sprint([]Held[string]{second, third}) || third.ID == second.ID ||
		third.ID == first.ID {
		t.Errorf("it holds %s", got)
	}
	if got := fmt.Sprint(before.Held()); got != fmt.Sprint([]Held[string]{first, second}) {
		t.Errorf("a release has changed the book that it was made from: %s", got)
	}
}
