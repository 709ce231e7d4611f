// want: takes maps.Keys without sorting it
// as: cluster/x.go

package cluster

import (
	"maps"
	"slices"
)

func f(m map[string]int) []string { return slices.Collect(maps.Keys(m)) }
