package directory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/rota-run/rota/store"
)

// Publish keeps the inventories of this member's copies up to date in the store, and logs the faults of its files, until ctx ends.
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

// joinLook is how soon the inventory of a member that was removed and has joined again is published: until then nobody removes anything.
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
	if err != nil {
		p.loaded = false // the outcome may be unknown, or another one wrote
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
		p.holding.resume(before)
	}
	p.version, p.last, p.loaded, p.resumed = doc.Version, nil, true, true
	return nil
}

// answerWithin bounds what one look waits for the store: a call without an answer must not be the last one.
const answerWithin = 10 * time.Second

// maxLogged bounds the faults that one look logs, and the records of changed files that it adds to the journal.
const maxLogged = 20

// logFaults logs the faults that two looks have found and that were not logged, and reports whether another look may find more of them.
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
			p.log.Warn("a task file is not used: the version before, if there was one, keeps running", "source", p.name, "fault", e.Error())
		}
	}
	p.seen, p.logged = seen, logged
	return again
}
