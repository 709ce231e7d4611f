// want: nothing
// as: cluster/x.go

package cluster

import (
	"maps"
	"slices"
)

func f(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }
