package leader

import (
	"fmt"
	"testing"
)

// TestATreeIsWalkedAsItWas: what is set or removed during a walk does not show in it.
func TestATreeIsWalkedAsItWas(t *testing.T) {
	t.Parallel()
	var all tree[int]
	for i := range 500 {
		all.set(fmt.Sprintf("a/%03d", i), i)
		all.set(fmt.Sprintf("b/%03d", i), i)
	}
	next := 0
	all.below("a/", func(key string, v int) bool {
		if v != next {
			t.Fatalf("%s comes after %d", key, next-1)
		}
		next++
		all.remove(key)
		return true
	})
	if next != 500 || all.Len() != 500 {
		t.Errorf("walked %d, left %d", next, all.Len())
	}
}
