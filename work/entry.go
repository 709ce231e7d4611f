package work

import (
	"context"

	"github.com/rota-run/rota/store"
)

// entry is a periodic run whose last round has yet to be read.
type entry struct {
	ctx context.Context
	run *run
}

// entriesPerRead bounds how many last rounds are read in one request.
const entriesPerRead = 64

// readEntries reads the last rounds of runs that enter, many in one request where the store can, until none waits. A member that gets thousands of partitions
// at once has no goroutine for each of them.
func (p *pacer) readEntries() {
	defer p.s.runs.Done()
	for {
		some := p.takeEntries()
		if len(some) == 0 {
			return
		}
		p.enterMany(some)
	}
}

// perRead is how many are read in one request.
func (p *pacer) perRead() int {
	if _, ok := p.s.conf.Positions.(store.GetMany); ok {
		return entriesPerRead
	}
	return 1
}

// takeEntries takes the next ones that are not over; none ends the reader.
func (p *pacer) takeEntries() (some []entry) {
	most := p.perRead()
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.entries) > 0 && len(some) < most {
		e := p.entries[0]
		p.entries[0] = entry{}
		p.entries = p.entries[1:]
		if e.run.periodic.place != placeGone {
			some = append(some, e)
		}
	}
	if len(some) == 0 {
		p.readers--
		p.entries = nil
	}
	return some
}

// enterMany puts runs on the wheel. What one request does not settle is for enterAlone, which tries again.
func (p *pacer) enterMany(some []entry) {
	keys := make([]string, len(some))
	for i, e := range some {
		keys[i] = positionKey(e.run.id)
	}
	p.reads <- struct{}{}
	docs, err := store.GetAll(p.reading, p.s.conf.Positions, keys)
	<-p.reads
	for i, e := range some {
		if err != nil || !p.enterWith(e, docs[i]) {
			p.enterAlone(e.ctx, e.run)
		}
	}
}

// enterWith puts a run on the wheel if its document says all.
func (p *pacer) enterWith(e entry, doc store.Doc) bool {
	var saved storedPosition
	if doc.Version != "" {
		var err error
		if saved, err = decodePosition(doc); err != nil {
			return false
		}
	}
	at, ok := e.run.lastRound(saved)
	if !ok || e.run.saw(doc.Version, saved, e.run.token) != nil {
		return false
	}
	p.add(e.ctx, e.run, lastRound{at: at, since: e.run.acceptedAt()})
	return true
}
