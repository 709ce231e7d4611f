package log

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine"
	"github.com/rota-run/rota/store/engine/internal/adversary"
)

// small is the size of the pages here.
const small = 2

// hand is a script's handle on a log, which tells what came of each operation.
type hand struct {
	*Log
	p *adversary.Player
}

// event is an operation and its result.
type event struct {
	op      string // append, read, snapshot, seed, save, trim
	data    []string
	index   uint64 // of the append, or the seed
	after   uint64
	records []store.Record // of the read, or of the snapshot
	head    uint64
	err     error
}

// script is a script of a log.
func script(do func(h hand)) adversary.Script {
	return func(p *adversary.Player) {
		l := Open(engine.NewRows(p.Driver(), p.Name), Main)
		l.inline, l.reach = 2, small
		if l.size != withPage {
			l.size, l.state.size = small, small
		}
		l.pause = func(context.Context, time.Duration) error { return nil } // others run between any two requests
		do(hand{l, p})
	}
}

// looks begins a script whose handle knows the head.
func (h hand) looks() { _, _ = h.Log.Read(context.Background(), 0, 1) }

func (h hand) append(data ...string) {
	var records [][]byte
	for _, d := range data {
		records = append(records, []byte(d))
	}
	indexes, err := h.appendAll(context.Background(), records)
	h.p.Tell(event{op: "append", data: data, index: append(indexes, 0)[0], err: err})
}

func (h hand) page(after uint64) (store.Page, error) {
	page, err := h.Log.Read(context.Background(), after, 3)
	h.p.Tell(event{op: "read", after: after, records: page.Records, head: page.Head, err: err})
	return page, err
}

func (h hand) seeds(index uint64) {
	h.p.Tell(event{op: "seed", index: index, err: h.SeedLog(context.Background(), index)})
}

// saves saves what is known to stand up to an index: x1, x2, ...
func (h hand) saves(index uint64) {
	var all []store.Record
	for i := uint64(1); i <= index; i++ {
		all = append(all, store.Record{Index: i, Data: fmt.Append(nil, "x", i)})
	}
	h.p.Tell(event{op: "save", index: index,
		err: h.SaveSnapshot(context.Background(), store.Record{Index: index, Data: encodeAll(all)})})
}

func (h hand) trims(index uint64) {
	h.p.Tell(event{op: "trim", index: index, err: h.Trim(context.Background(), index)})
}

// readAll reads from the beginning to the head, by the snapshot where it must, and returns all.
func (h hand) readAll() ([]store.Record, bool) {
	var all []store.Record
	begins := uint64(0)
	for range 20 {
		after := begins
		if len(all) > 0 {
			after = all[len(all)-1].Index
		}
		page, err := h.page(after)
		switch {
		case errors.Is(err, store.ErrTruncated):
			snapshot, err := h.Snapshot(context.Background())
			all = decodeAll(snapshot)
			h.p.Tell(event{op: "snapshot", records: all, err: err})
			if errors.Is(err, store.ErrNotFound) { // it was seeded
				begins, _, err = h.ends(context.Background())
			}
			if err != nil {
				return nil, false
			}
			continue
		case err != nil:
			return nil, false
		}
		all = append(all, page.Records...)
		if len(all) == 0 || all[len(all)-1].Index >= page.Head {
			return all, true
		}
	}
	return nil, false
}

// compacts reads all, saves it as a snapshot, and trims up to it.
func (h hand) compacts() {
	all, ok := h.readAll()
	if !ok || len(all) == 0 {
		return
	}
	last := all[len(all)-1].Index
	err := h.SaveSnapshot(context.Background(), store.Record{Index: last, Data: encodeAll(all)})
	h.p.Tell(event{op: "save", index: last, err: err})
	if err == nil {
		h.trims(last)
	}
}

// encodeAll and decodeAll lay records out as the data of a snapshot.
func encodeAll(all []store.Record) []byte {
	var b strings.Builder
	for _, r := range all {
		fmt.Fprintf(&b, "%d %s\n", r.Index, r.Data)
	}
	return []byte(b.String())
}

func decodeAll(snapshot store.Record) (all []store.Record) {
	for line := range strings.Lines(string(snapshot.Data)) {
		var index uint64
		var data string
		if _, err := fmt.Sscanf(line, "%d %s", &index, &data); err != nil {
			panic(err)
		}
		all = append(all, store.Record{Index: index, Data: []byte(data)})
	}
	return all
}

// judge holds what a log tells against all that is known of it.
type judge struct {
	acked   uint64            // the highest index that was acknowledged
	head    uint64            // of the head that stands
	at      map[string]uint64 // where data was seen
	data    map[uint64]string // what was seen, or acknowledged, at each index
	must    map[string]bool   // data that was acknowledged (true), or said not to be appended (false)
	seeds   map[uint64]bool   // which were said to be done (true), or not (false)
	saved   uint64            // the highest index of which a snapshot was said to be saved
	seeding bool              // there are seeds: a log may have no records, and no snapshot of them
	broken  string
}

func newJudge(seeding bool) func() adversary.Judge {
	return func() adversary.Judge {
		return &judge{at: map[string]uint64{}, data: map[uint64]string{}, must: map[string]bool{},
			seeds: map[uint64]bool{}, seeding: seeding}
	}
}

func (j *judge) Clone() adversary.Judge {
	c := *j
	c.at, c.data, c.must, c.seeds = maps.Clone(j.at), maps.Clone(j.data), maps.Clone(j.must), maps.Clone(j.seeds)
	return &c
}

func (j *judge) Mark() uint64   { return j.acked }
func (j *judge) Broken() string { return j.broken }
func (j *judge) Text() string {
	return fmt.Sprint(j.acked, j.head, j.data, j.must, j.seeds, j.saved)
}

// Executed notes what stands: whatever becomes of the answer, an index is given once, and what was called not done is
// not done.
func (j *judge) Executed(op driver.Op) {
	if p, err := decodePage(op.Value); err == nil && strings.Contains(op.Key, "/p/") {
		j.stands(p)
	}
	if text, ok := strings.CutPrefix(op.Key, adversary.RecordKey); ok {
		j.ordered(text, op)
	}
	if !strings.HasSuffix(op.Key, "/head") {
		return
	}
	s, err := decodeState(op.Value)
	if err != nil {
		j.breaks("%v", err)
		return
	}
	if s.end() < j.head {
		j.breaks("the head was at %d, and is at %d", j.head, s.end())
	}
	j.head = s.end()
	j.stands(page{s.cut, s.tail})
}

// ordered notes a record of a journal, or where it begins.
func (j *judge) ordered(text string, op driver.Op) {
	index, err := strconv.ParseUint(text, 10, 64)
	if err != nil || index <= j.head {
		j.breaks("the head was at %d, and %s was given", j.head, text)
	}
	j.head = index
	if !op.Delete {
		j.sees(index, string(op.Value))
	}
}

func (j *judge) stands(p page) {
	for i, e := range p.entries {
		if e.ref == "" {
			j.sees(p.after+1+uint64(i), string(e.data)) //nolint:gosec // i is not negative
		}
	}
}

func (j *judge) Told(told any, mark uint64, _ adversary.Rows) {
	if found, ok := told.(end); ok {
		for data, done := range j.must {
			if done != found.all[data] {
				j.breaks("%q: acknowledged %v, at the end it is there: %v", data, done, found.all[data])
			}
		}
		return
	}
	e, _ := told.(event)
	switch {
	case errors.Is(e.err, ErrDamaged), errors.Is(e.err, store.ErrNotFound) && !j.seeding:
		j.breaks("%s: %v", e.op, e.err)
	case e.op == "seed" && !errors.Is(e.err, store.ErrUnknown):
		j.seeds[e.index] = e.err == nil
		for index := range j.data {
			if e.err == nil && index <= e.index {
				j.breaks("the log was seeded at %d, and has a record at %d", e.index, index)
			}
		}
	case e.op == "append" && e.err == nil:
		if e.index <= mark {
			j.breaks("%q was appended at %d after %d was acknowledged", e.data, e.index, mark)
		}
		for i, d := range e.data {
			j.sees(e.index+uint64(i), d) //nolint:gosec // i is not negative
			j.must[d] = true
		}
		j.acked = max(j.acked, e.index+uint64(len(e.data))-1)
	case e.op == "append" && !errors.Is(e.err, store.ErrUnknown):
		for _, d := range e.data {
			j.must[d] = false
			if at, stands := j.at[d]; stands {
				j.breaks("%q was said not to be appended, and stands at %d", d, at)
			}
		}
	case e.op == "save" && e.err == nil:
		j.saved = max(j.saved, e.index)
	case e.op == "newest" && e.index < j.saved:
		j.breaks("a snapshot at %d was saved, and the newest is that at %d", j.saved, e.index)
	case e.op == "snapshot" && e.err == nil:
		for _, r := range e.records {
			j.sees(r.Index, string(r.Data))
		}
	case e.op == "read" && e.err == nil:
		j.judgePage(e, mark)
	}
}

func (j *judge) judgePage(e event, mark uint64) {
	if e.head < mark || e.head > j.head {
		j.breaks("a read found the head at %d; %d was acknowledged before, and it is at %d", e.head, mark, j.head)
	}
	if len(e.records) == 0 && e.after < e.head {
		j.breaks("a read after %d has no records, and the head is at %d", e.after, e.head)
	}
	for index, done := range j.seeds {
		if done && e.head < index {
			j.breaks("a read found the head at %d; the log was seeded at %d", e.head, index)
		}
	}
	for i, r := range e.records {
		if r.Index != e.after+1+uint64(i) || r.Index > e.head { //nolint:gosec // i is not negative
			j.breaks("a read after %d, head %d, has %d as number %d", e.after, e.head, r.Index, i)
		}
		j.sees(r.Index, string(r.Data))
	}
}

// sees notes what stands at an index: nothing stands at two, and nothing else stands there at another time.
func (j *judge) sees(index uint64, data string) {
	if other, ok := j.data[index]; ok && other != data {
		j.breaks("at %d there was %q, and %q", index, other, data)
	}
	if other, ok := j.at[data]; ok && other != index {
		j.breaks("%q stands at %d and at %d", data, other, index)
	}
	if done, ok := j.must[data]; ok && !done {
		j.breaks("%q was said not to be appended, and stands at %d", data, index)
	}
	for seed, done := range j.seeds {
		if done && index <= seed {
			j.breaks("the log was seeded at %d, and has a record at %d", seed, index)
		}
	}
	j.data[index], j.at[data] = data, index
}

func (j *judge) breaks(format string, args ...any) {
	if j.broken == "" {
		j.broken = fmt.Sprintf(format, args...)
	}
}
