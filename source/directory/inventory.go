package directory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
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

// contents are the ids of a scan with the hashes of their definitions.
func contents(scan Scan) map[cluster.JobID]string {
	out := make(map[cluster.JobID]string, len(scan.Definitions)+len(scan.Blocked))
	for _, id := range scan.Blocked {
		out[id] = ""
	}
	for _, d := range scan.Definitions {
		out[d.ID] = d.Sum
	}
	return out
}

// sumsOf are the hashes of contents: of the ids alone, and with their definitions.
func sumsOf(names map[cluster.JobID]string) (ids, all string) {
	one, both := fnvBasis, fnvBasis
	for _, id := range slices.Sorted(maps.Keys(names)) {
		one = fnv(one, string(id)+"\n")
		both = fnv(both, string(id)+" "+names[id]+"\n")
	}
	return strconv.FormatUint(one, 36), strconv.FormatUint(both, 36)
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

// bounded is the inventory without what is too large for a document.
func (i Inventory) bounded() Inventory {
	size := 0
	for id, sum := range i.Names { // order-free: a sum of lengths
		size += len(id) + len(sum) + len(`"":"",`)
	}
	if size > maxNames {
		i.Names = nil
	}
	size = 0
	for n, id := range i.Gone {
		if size += len(id) + len(`"",`); size > maxGone {
			i.Gone = i.Gone[:n] // the next ones follow when the jobs of these have ended
			break
		}
	}
	return i
}
