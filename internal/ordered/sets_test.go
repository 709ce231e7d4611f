package ordered

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestSets compares sets with a matrix of what they have. A copy is independent, a key without elements is not
// there, and a yield that returns false ends the walk.
func TestSets(t *testing.T) {
	t.Parallel()
	const keys, elements = 3, 4
	rapid.Check(t, func(t *rapid.T) {
		var s, copied Sets[int, int]
		var want, was [keys][elements]bool
		pairs := func(s *Sets[int, int], most int) (out []string) {
			Pairs(s, func(k, e int) bool {
				out = append(out, fmt.Sprint(k, " ", e))
				return len(out) < most
			})
			return out
		}
		said := func(s *Sets[int, int], want [keys][elements]bool) {
			var all, there []string
			for k, row := range want {
				n := 0
				for e, in := range row {
					if in {
						n++
						all = append(all, fmt.Sprint(k, " ", e))
					}
				}
				if n > 0 {
					there = append(there, fmt.Sprint(k))
				}
				if got := Count(s, k); got != n {
					t.Fatalf("key %d has %d elements, want %d", k, got, n)
				}
			}
			var got []string
			Keys(s, func(k int) bool { got = append(got, fmt.Sprint(k)); return true })
			if fmt.Sprint(got) != fmt.Sprint(there) {
				t.Fatalf("keys %v, want %v", got, there)
			}
			for most := 1; most <= len(all)+1; most++ {
				if got, want := pairs(s, most), all[:min(most, len(all))]; fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("the first %d are %v, want %v", most, got, want)
				}
			}
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			k, e := rapid.IntRange(0, keys-1).Draw(t, "key"), rapid.IntRange(0, elements-1).Draw(t, "element")
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0, 1:
				Add(&s, k, e, 0)
				want[k][e], want[k][0] = true, true
			case 2, 3:
				Drop(&s, k, e)
				want[k][e] = false
			case 4:
				DropAll(&s, k)
				want[k] = [elements]bool{}
			case 5:
				SealSets(&s)
				copied, was = s, want
			}
			said(&s, want)
			said(&copied, was)
		}
	})
}
