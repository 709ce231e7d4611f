package directory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
)

// Inventory is a member's published state of its copy of a source: the files that it has, and those that it had.
type Inventory struct {
	Incarnation cluster.Incarnation `json:"incarnation"` // of the member; one of an earlier start does not apply to the present one
	Count       int                 `json:"count"`
	IDs         string              `json:"ids"` // hash of all ids
	Sum         string              `json:"sum"` // hash of all ids and definitions
	// Names are the ids with hashes of their definitions, "" for unusable files. Absent if there are too many: then IDs and Sum
	// show whether two copies are equal.
	Names map[cluster.JobID]string `json:"names,omitempty"`
	// Gone are the ids, sorted, whose files were in this copy and were removed from it, while their jobs run.
	Gone []cluster.JobID `json:"gone,omitempty"`
	// Incomplete: the scan was incomplete; the copy may have more files.
	Incomplete bool `json:"incomplete,omitempty"`
}

// The bounds of a published inventory, in bytes: together they fit into a document of every store.
const (
	maxNames = 512 << 10
	maxGone  = 128 << 10
)

// prefix is where the inventories of a source are.
func prefix(name string) string { return "source/" + name + "/" }

// Inventories returns what the members have published about their copies of a source. One that cannot be decoded is ignored.
func Inventories(ctx context.Context, docs store.Docs, name string) (map[cluster.MemberID]Inventory, error) {
	all, err := published(ctx, docs, name)
	out := make(map[cluster.MemberID]Inventory, len(all))
	for m, p := range all {
		out[m] = p.Inventory
	}
	return out, err
}

// publication is an inventory with its version in the store.
type publication struct {
	Inventory
	version store.Version
}

func published(ctx context.Context, docs store.Docs, name string) (map[cluster.MemberID]publication, error) {
	list, err := docs.List(ctx, prefix(name))
	if err != nil {
		return nil, fmt.Errorf("list the inventories of source %s: %w", name, err)
	}
	out := make(map[cluster.MemberID]publication, len(list))
	for _, d := range list {
		p := publication{version: d.Version}
		if json.Unmarshal(d.Value, &p.Inventory) == nil {
			out[cluster.MemberID(strings.TrimPrefix(d.Key, prefix(name)))] = p
		}
	}
	return out, nil
}

// sumOf is the hash of a definition, the same for files of equal meaning.
func sumOf(spec cluster.JobSpec) string {
	data, err := json.Marshal(spec.Tasks)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:4])
}

// bounded is the inventory without those of the removed that are too many for a document.
func (i Inventory) bounded() Inventory {
	size := 0
	for n, id := range i.Gone {
		if size += len(id) + len(`"",`); size > maxGone {
			i.Gone = i.Gone[:n] // the next ones follow when the jobs of these have ended
			break
		}
	}
	return i
}

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
