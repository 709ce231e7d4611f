package directory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
)

// Publish keeps the inventories of this member's copies up to date in the store, and logs the faults of its files,
// until ctx ends.
func (c Config) Publish(ctx context.Context, log *slog.Logger) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, name := range Names(c.Dirs, c.Files) {
		p := &publisher{Config: c, name: name, log: log}
		joins := make(chan struct{}, 1)
		wg.Go(func() { c.hintAtJoins(ctx, joins) })
		wg.Go(func() {
			c.looks(ctx, name, log, joins, func(scan Scan, _ bool) bool { return p.act(ctx, scan) })
		})
	}
}

// joinLook is how soon the inventory of a member that was removed and has joined again is published: until then nobody
// removes anything.
const joinLook = 500 * time.Millisecond

// hintAtJoins gives a hint when this member has joined again, until ctx ends: what it published before counts no more.
func (c Config) hintAtJoins(ctx context.Context, hints chan<- struct{}) {
	tick := time.NewTicker(joinLook)
	defer tick.Stop()
	last, _ := c.Incarnation()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		inc, joined := c.Incarnation()
		if !joined || inc == last {
			continue
		}
		last = inc
		select {
		case hints <- struct{}{}:
		default:
		}
	}
}

// publisher publishes the inventory of one copy.
type publisher struct {
	Config
	name    string
	log     *slog.Logger
	holding holding
	loaded  bool // version is that of the document
	resumed bool // what was published before this start has been taken up
	version store.Version
	last    []byte // what was published
	failure string // that was logged last
	seen    map[string]bool
	logged  map[string]bool // faults
}

func (p *publisher) key() string { return prefix(p.name) + string(p.Member) }

// act publishes what a scan changes, and reports whether to look again soon.
func (p *publisher) act(ctx context.Context, scan Scan) (again bool) {
	again = p.logFaults(scan)
	if scan.only == nil {
		p.Cache.of(p.name).intern(p.Value())
	}
	calls, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	again, err := p.publish(calls, scan, again)
	switch {
	case err == nil:
		p.failure = ""
	case ctx.Err() == nil && err.Error() != p.failure:
		p.failure = err.Error()
		p.log.Warn("publish the inventory of a source; it is tried again", "source", p.name, "err", err)
	}
	return again || err != nil // others remove nothing while what they know of this copy is old
}

func (p *publisher) publish(ctx context.Context, scan Scan, again bool) (bool, error) {
	inc, joined := p.Incarnation()
	if !joined { // until then another process may have this member's name
		p.holding.note(scan)
		return true, nil
	}
	if err := p.load(ctx); err != nil {
		p.holding.note(scan)
		return again, err
	}
	again = p.holding.look(scan, p.Value(), p.name) || scan.Unsettled || again
	data, err := json.Marshal(p.holding.inventory(inc))
	if err != nil {
		return again, fmt.Errorf("encode the inventory: %w", err)
	}
	if bytes.Equal(data, p.last) {
		return again, nil
	}
	version, err := p.Docs.Put(ctx, store.Doc{Key: p.key(), Value: data, Version: p.version})
	if p.loaded = err == nil; errors.Is(err, store.ErrConflict) {
		return true, nil // others have removed it, as that of a member that was out, or an answer was lost
	}
	if err != nil {
		return again, fmt.Errorf("put %s: %w", p.key(), err)
	}
	p.version, p.last = version, data
	return again, nil
}

// load reads the version of the document, and takes up what it says when this process has published nothing yet.
func (p *publisher) load(ctx context.Context) error {
	if p.loaded {
		return nil
	}
	doc, err := p.Docs.Get(ctx, p.key())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("get %s: %w", p.key(), err)
	}
	var before Inventory
	if !p.resumed && err == nil && json.Unmarshal(doc.Value, &before) == nil {
		p.holding.resume(before, p.Value(), p.name)
	}
	p.version, p.last, p.loaded, p.resumed = doc.Version, nil, true, true
	return nil
}

// answerWithin bounds what one look waits for the store: a call without an answer must not be the last one.
const answerWithin = 10 * time.Second

// maxLogged bounds the faults that one look logs, and the records of changed files that it adds to the journal.
const maxLogged = 20

// logFaults logs the faults that two looks have found and that were not logged, and reports whether another look may
// find more of them.
func (p *publisher) logFaults(scan Scan) (again bool) {
	seen, logged, count := make(map[string]bool), make(map[string]bool), 0
	for _, e := range scan.Faults {
		m := mark(e)
		seen[m] = true
		switch {
		case p.logged[m]:
			logged[m] = true
		case !p.seen[m] || count == maxLogged:
			again = true
		default:
			logged[m] = true
			count++
			p.log.Warn("a task file is not used: the version before, if there was one, keeps running", "source", p.name,
				"fault", e.Error())
		}
	}
	p.seen, p.logged = seen, logged
	return again
}

// Inventory is a member's published state of its copy of a source: the files that it has, and those that it had.
type Inventory struct {
	Incarnation cluster.Incarnation `json:"incarnation"` // of the member; one of an earlier start does not apply to the present one
	Count       int                 `json:"count"`
	IDs         string              `json:"ids"` // hash of all ids
	Sum         string              `json:"sum"` // hash of all ids and definitions
	// Names are the ids with hashes of their definitions, "" for unusable files. Absent if there are too many: then IDs
	// and Sum show whether two copies are equal.
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

// Inventories returns what the members have published about their copies of a source. One that cannot be decoded is
// ignored.
func Inventories(ctx context.Context, docs store.Docs, name string) (map[cluster.MemberID]Inventory, error) {
	all, err := published(ctx, docs, name)
	return inventoriesOf(all), err
}

func inventoriesOf(all map[cluster.MemberID]publication) map[cluster.MemberID]Inventory {
	out := make(map[cluster.MemberID]Inventory, len(all))
	for m, p := range all { // order-free: into a map
		out[m] = p.Inventory
	}
	return out
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

// claims are the files that define each id, good or not. Most ids have one file, and most of these are good: once a
// scan is over, they are only in its definitions.
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
