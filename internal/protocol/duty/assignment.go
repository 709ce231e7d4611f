package duty

import (
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// Granted returns the assignment with these grants, as of an index of the log. It is a new version if the supervisor has something to do.
func Granted(a protocol.Assignment, index cluster.Index, grants []*protocol.Grant) protocol.Assignment {
	a.Index = index
	if a.Version == 0 || !slices.EqualFunc(grants, a.Grants, same) {
		a.Grants, a.Version = grants, a.Version+1
	}
	return a
}

// same reports whether two grants ask for the same run.
func same(a, b *protocol.Grant) bool {
	return a == b || a.Partition == b.Partition && a.Token == b.Token && a.Attempt == b.Attempt && a.SpecIndex == b.SpecIndex
}
