package directory

import (
	"maps"
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
)

// claims are the files that define each id, good or not. Most ids have one file, and most of these are good: once a scan is over, they are only in its
// definitions.
type claims struct {
	one  map[cluster.JobID]string
	more map[cluster.JobID][]string // beside the one
}

func newClaims() claims {
	return claims{make(map[cluster.JobID]string), make(map[cluster.JobID][]string)}
}

// add notes a file; false if it is known.
func (c claims) add(id cluster.JobID, file string) bool {
	switch first, ok := c.one[id]; {
	case !ok:
		c.one[id] = file
	case first == file || slices.Contains(c.more[id], file):
		return false
	default:
		c.more[id] = append(c.more[id], file)
	}
	return true
}

// of are the files of an id.
func (c claims) of(id cluster.JobID) []string {
	first, ok := c.one[id]
	if !ok {
		return nil
	}
	return append([]string{first}, c.more[id]...)
}

// leave leaves out the files that are in the definitions.
func (c *claims) leave(definitions []Definition) {
	rest := make(map[cluster.JobID]string)
	for id, file := range c.one { // order-free: a map of the same
		if _, good := slices.BinarySearchFunc(definitions, id, compareID); !good {
			rest[id] = file
		}
	}
	c.one = rest
}

// take takes what others know of an id.
func (c claims) take(id cluster.JobID, others claims) {
	delete(c.one, id)
	delete(c.more, id)
	if first, ok := others.one[id]; ok {
		c.one[id] = first
	}
	if more, ok := others.more[id]; ok {
		c.more[id] = more
	}
}

func compareID(d Definition, id cluster.JobID) int { return strings.Compare(string(d.ID), string(id)) }

func (c claims) clone() claims { return claims{maps.Clone(c.one), maps.Clone(c.more)} }
