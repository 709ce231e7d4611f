package doclog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/store"
)

// process is a script and how far it is.
type process struct {
	past    []answer
	sum     string // of past
	next    request
	part    []store.Doc // that a gets has read so far
	over    bool        // or crashed
	events  int         // judged so far
	floor   uint64      // what was acknowledged when the present operation sent its first request
	started bool        // it has sent one
}

// world is one state of an exploration.
type world struct {
	docs    documents
	procs   []process
	late    []request // whose answer was lost, and which may arrive at any time
	faults  int       // that may still come
	acked   uint64    // the highest index that was acknowledged
	at      map[string]uint64
	data    map[uint64]string // what was seen, or acknowledged, at each index
	must    map[string]bool   // data that was acknowledged (true), or said not to be appended (false)
	seeding bool              // there are seeds: a log may have no records, and no snapshot of them
	seeds   map[uint64]bool   // which were said to be done (true), or not (false)
	ghosts  string            // the text of at, data, must and seeds
	broken  string
}

// model explores scripts from a beginning.
type model struct {
	scripts  []script
	known    []uint64 // what the handles know at the beginning, if any
	before   script   // is run first, alone
	faults   int
	listLags bool   // List returns nothing
	single   bool   // the documents have no store.GetMany
	seeding  bool   // some script seeds
	only     string // the fault that happens; "": any
}

func (m model) Start() []world {
	empty := documents{docs: map[string]store.Doc{}, lives: map[string]int{}}
	w := world{docs: empty, at: map[string]uint64{}, data: map[uint64]string{}, must: map[string]bool{}, seeds: map[uint64]bool{}, faults: m.faults, seeding: m.seeding}
	if m.before != nil {
		alone := model{scripts: []script{m.before}, single: true}
		w.procs = make([]process, 1)
		for w = alone.resume(w, 0); !w.procs[0].over; {
			w = alone.step(w, 0)
		}
	}
	w.procs = make([]process, len(m.scripts))
	for i := range m.scripts {
		w = m.resume(w, i)
	}
	return []world{w}
}

// resume runs a script up to its next request, and judges what it tells.
func (m model) resume(w world, i int) world {
	w.procs = slices.Clone(w.procs)
	p := &w.procs[i]
	known := uint64(0)
	if len(m.known) > i {
		known = m.known[i]
	}
	player, over := play(fmt.Sprint("p", i), known, m.scripts[i], p.past, m.single)
	if len(player.events) > p.events {
		w.at, w.data, w.must, w.seeds = maps.Clone(w.at), maps.Clone(w.data), maps.Clone(w.must), maps.Clone(w.seeds)
		for _, e := range player.events[p.events:] {
			w.judge(e, p.floor)
		}
		w.ghosts, p.started = fmt.Sprint(w.data, w.must, w.seeds), false
	}
	p.events, p.next, p.over = len(player.events), player.next, over
	return w
}

// judge holds what a call returned against all that is known.
func (w *world) judge(e event, floor uint64) {
	switch {
	case errors.Is(e.err, ErrDamaged), errors.Is(e.err, store.ErrNotFound) && !w.seeding:
		w.breaks("%s: %v", e.op, e.err)
	case e.op == "seed" && !errors.Is(e.err, store.ErrUnknown):
		w.seeds[e.index] = e.err == nil
		for index := range w.data {
			if e.err == nil && index <= e.index {
				w.breaks("the log was seeded at %d, and has a record at %d", e.index, index)
			}
		}
	case e.op == "append" && e.err == nil:
		if e.index <= floor {
			w.breaks("%q was appended at %d after %d was acknowledged", e.data, e.index, floor)
		}
		w.sees(e.index, e.data)
		w.must[e.data], w.acked = true, max(w.acked, e.index)
	case e.op == "append" && !errors.Is(e.err, store.ErrUnknown):
		w.must[e.data] = false
		if at, stands := w.at[e.data]; stands {
			w.breaks("%q was said not to be appended, and stands at %d", e.data, at)
		}
	case e.op == "read" && e.err == nil:
		w.judgePage(e, floor)
	case e.op == "snapshot" && e.err == nil:
		for _, r := range e.records {
			w.sees(r.Index, string(r.Data))
		}
	}
}

func (w *world) judgePage(e event, floor uint64) {
	if e.head < floor {
		w.breaks("a read found the head at %d after %d was acknowledged", e.head, floor)
	}
	if e.head > w.ends() {
		w.breaks("a read found the head at %d; the log ends at %d", e.head, w.ends())
	}
	for index, done := range w.seeds {
		if done && e.head < index {
			w.breaks("a read found the head at %d; the log was seeded at %d", e.head, index)
		}
	}
	for i, r := range e.records {
		if r.Index != e.after+1+uint64(i) || r.Index > e.head {
			w.breaks("a read after %d, head %d, has %d as number %d", e.after, e.head, r.Index, i)
		}
		w.sees(r.Index, string(r.Data))
	}
}

// ends is an index that the log cannot have passed.
func (w *world) ends() uint64 {
	l, end := handleOn(nil, ""), uint64(0)
	for key := range w.docs.docs {
		if index, ok := l.indexOf(key); ok {
			end = max(end, index)
		}
	}
	if d, ok := w.docs.docs[l.metaKey()]; ok {
		if m, err := decodeMeta(d.Value); err == nil {
			end = max(end, m.Base)
		}
	}
	return end
}

// sees notes what stands at an index: nothing stands at two, and nothing else stands there at another time.
func (w *world) sees(index uint64, data string) {
	if other, ok := w.data[index]; ok && other != data {
		w.breaks("at %d there was %q, and %q", index, other, data)
	}
	if other, ok := w.at[data]; ok && other != index {
		w.breaks("%q stands at %d and at %d", data, other, index)
	}
	if done, ok := w.must[data]; ok && !done {
		w.breaks("%q was said not to be appended, and stands at %d", data, index)
	}
	for seed, done := range w.seeds {
		if done && index <= seed {
			w.breaks("the log was seeded at %d, and has a record at %d", seed, index)
		}
	}
	w.data[index], w.at[data] = data, index
}

func (w *world) breaks(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
	}
}

// step answers the next request of a process, or reads the next one of many documents.
func (m model) step(w world, i int) world {
	if w.procs[i].next.op == "gets" {
		return m.readOne(w, i)
	}
	docs, a := w.docs.do(w.procs[i].next)
	if m.listLags && w.procs[i].next.op == "list" {
		a.docs = nil
	}
	w.docs = docs
	return m.answer(w, i, a)
}

// readOne reads the next document of a gets, whose answer is complete with the last one.
func (m model) readOne(w world, i int) world {
	w.procs = slices.Clone(w.procs)
	p := &w.procs[i]
	p.begin(w)
	key := p.next.keys[len(p.part)]
	d := store.Doc{Key: key}
	if _, a := w.docs.do(request{op: "get", doc: d}); a.err == nil {
		d = a.docs[0]
	}
	p.part = append(slices.Clip(p.part), d)
	if len(p.part) < len(p.next.keys) {
		return w
	}
	return m.answer(w, i, answer{docs: p.part})
}

// begin notes that a process has sent the first request of an operation.
func (p *process) begin(w world) {
	if !p.started {
		p.started, p.floor = true, w.acked
	}
}

func (m model) answer(w world, i int, a answer) world {
	w.procs = slices.Clone(w.procs)
	p := &w.procs[i]
	p.begin(w)
	p.part = nil
	p.past, p.sum = append(slices.Clip(p.past), a), digest(p.sum, a)
	return m.resume(w, i)
}

func (m model) Next(w world) []check.Move[world] {
	var out []check.Move[world]
	for i, p := range w.procs {
		if p.over {
			continue
		}
		name := fmt.Sprintf("p%d %s", i, p.next)
		if p.next.op == "gets" {
			name = fmt.Sprintf("%s: %d", name, len(p.part)+1)
		}
		out = append(out, check.Move[world]{Name: name, To: m.step(w, i)})
		if w.faults > 0 {
			out = append(out, m.failures(w, i, name)...)
		}
	}
	for i, r := range w.late {
		next := w
		next.docs, _ = w.docs.do(r)
		next.late = slices.Delete(slices.Clone(w.late), i, i+1)
		out = append(out, check.Move[world]{Name: fmt.Sprint("arrives late: ", r), To: next})
	}
	return out
}

// failures are what else can become of a request.
func (m model) failures(w world, i int, name string) []check.Move[world] {
	w.faults--
	r := w.procs[i].next
	out := []check.Move[world]{{Name: name + ": refused", To: m.answer(w, i, answer{err: store.ErrUnavailable})}}
	crashed := w
	crashed.procs = slices.Clone(w.procs)
	crashed.procs[i].over = true
	out = append(out, check.Move[world]{Name: name + ": crashes before it", To: crashed})
	if r.writes() {
		lost := w
		lost.docs, _ = w.docs.do(r)
		late := w
		late.late = append(slices.Clip(w.late), r)
		for _, f := range []struct {
			name string
			w    world
		}{{"request lost", w}, {"reply lost", lost}, {"late", late}} {
			out = append(out, check.Move[world]{Name: name + ": " + f.name, To: m.answer(f.w, i, answer{err: store.ErrUnknown})})
		}
	}
	return slices.DeleteFunc(out, func(move check.Move[world]) bool { return !strings.HasSuffix(move.Name, m.only) })
}

func (m model) Key(w world) string {
	var b strings.Builder
	b.WriteString(w.docs.text)
	for _, p := range w.procs {
		fmt.Fprintln(&b, p.sum, p.over, p.floor, p.started, p.part)
	}
	fmt.Fprintln(&b, w.late, w.faults, w.acked)
	b.WriteString(w.ghosts)
	return b.String()
}

func (m model) Good(w world) bool {
	for _, p := range w.procs {
		if !p.over {
			return false
		}
	}
	return true
}

// Broken judges a state. At an end it also lets somebody new read all, append, and clean up.
func (m model) Broken(w world) string {
	if w.broken == "" && m.Good(w) {
		w.at, w.data, w.must = maps.Clone(w.at), maps.Clone(w.data), maps.Clone(w.must)
		m.audit(&w)
	}
	return w.broken
}

// auditor is the Docs of somebody who is alone.
type auditor struct {
	docs *documents
	lags bool
}

func (a auditor) do(r request) answer {
	docs, answer := a.docs.do(r)
	*a.docs = docs
	if a.lags && r.op == "list" {
		answer.docs = nil
	}
	return answer
}

func (a auditor) Get(_ context.Context, key string) (store.Doc, error) {
	x := a.do(request{op: "get", doc: store.Doc{Key: key}})
	if x.err != nil {
		return store.Doc{}, x.err
	}
	return x.docs[0], nil
}

func (a auditor) Put(_ context.Context, d store.Doc) (store.Version, error) {
	x := a.do(request{op: "put", doc: d})
	return x.version, x.err
}

func (a auditor) Delete(_ context.Context, key string, v store.Version) error {
	return a.do(request{op: "delete", doc: store.Doc{Key: key, Version: v}}).err
}

func (a auditor) List(_ context.Context, prefix string) ([]store.Doc, error) {
	x := a.do(request{op: "list", prefix: prefix})
	return x.docs, x.err
}

func (a auditor) Close() error { return nil }

func (m model) audit(w *world) {
	p := &player{log: handleOn(auditor{&w.docs, m.listLags}, "auditor")}
	judged := 0
	judge := func(floor uint64) {
		for ; judged < len(p.events); judged++ {
			w.judge(p.events[judged], floor)
		}
	}
	if d, ok := w.docs.docs[p.log.metaKey()]; ok {
		m, err := decodeMeta(d.Value)
		if done, said := w.seeds[m.Base]; err != nil || said && !done && m.Seed != "" && m.Freed == m.Base && m.Snapshot.Index == 0 {
			w.breaks("the state is %s, %v; seeds were said to be done: %v", d.Value, err, w.seeds)
		}
	}
	p.append("end")
	judge(w.acked)
	all, ok := p.readAll()
	judge(w.acked)
	if !ok {
		w.breaks("at the end the log cannot be read")
		return
	}
	found := map[string]bool{}
	for i, r := range all {
		found[string(r.Data)] = true
		if i > 0 && r.Index != all[i-1].Index+1 {
			w.breaks("at the end the records are %s", encodeAll(all))
		}
	}
	for data, done := range w.must {
		if done != found[data] {
			w.breaks("%q: acknowledged %v, at the end it is there %v", data, done, found[data])
		}
	}
	p.compact()
	judge(w.acked)
	for key := range w.docs.docs {
		if m.listLags && (m.faults > 0 || strings.HasPrefix(key, p.log.snapshots())) {
			continue // what only a list can show
		}
		if key != p.log.metaKey() && !strings.HasPrefix(key, fmt.Sprintf("%s%0*d", p.log.snapshots(), digits, w.acked)) {
			w.breaks("after the last trim there is still %s", key)
		}
	}
}
