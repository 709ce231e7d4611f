package plain

import "strings"

// Nearest is the known name that is written most like this one; not ok when none is near.
func Nearest(name string, known []string) (nearest string, ok bool) {
	best := min(3, len(name)/2+1)
	for _, k := range known {
		if d := distance(strings.ToLower(name), k); d < best {
			best, nearest = d, k
		}
	}
	return nearest, nearest != ""
}

// distance is the number of edits between two short names (Levenshtein 1965).
func distance(a, b string) int {
	if len(a) > 40 {
		return len(a)
	}
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		diagonal := prev[0]
		prev[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = prev[j+1]
			prev[j+1] = min(change, prev[j+1]+1, prev[j]+1)
		}
	}
	return prev[len(b)]
}
