package doclog

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/rota-run/rota/store"
)

// This file is the store of the exploration, and how scripts run on it one request at a time. A script is code that calls a log. It keeps no state
// between two requests: it is run again from its beginning, with the answers that it has had, up to the first request without one. So a state of the
// exploration is a plain value, and what is explored is the code itself.

// request is one call to the documents.
type request struct {
	op     string // get, gets, put, delete, list
	doc    store.Doc
	prefix string
	keys   []string // of gets: they are read in this order, with other requests between them
}

func (r request) writes() bool { return r.op == "put" || r.op == "delete" }

func (r request) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s%s%s %s", r.op, r.doc.Key, r.prefix, strings.Join(r.keys, " "), r.doc.Version))
}

// answer is what a call returned.
type answer struct {
	docs    []store.Doc
	version store.Version
	err     error
}

func (a answer) String() string { return fmt.Sprintf("%q %s %v", a.docs, a.version, a.err) }

// documents are the contents of the store. They are never changed, but copied.
type documents struct {
	docs  map[string]store.Doc
	lives map[string]int // versions given so far, by key: writes of different keys commute
	text  string         // of both
}

// written computes the text.
func (d documents) written() documents {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(d.lives)) {
		doc := d.docs[key]
		fmt.Fprintln(&b, key, d.lives[key], len(doc.Value), string(doc.Value), doc.Version)
	}
	d.text = b.String()
	return d
}

// do answers a request.
func (d documents) do(r request) (documents, answer) {
	current, exists := d.docs[r.doc.Key]
	switch {
	case r.op == "list":
		return d, answer{docs: d.list(r.prefix)}
	case r.op == "get" && !exists, r.op == "delete" && !exists:
		return d, answer{err: store.ErrNotFound}
	case r.op == "get":
		return d, answer{docs: []store.Doc{current}}
	case current.Version != r.doc.Version:
		return d, answer{err: store.ErrConflict}
	}
	next := documents{docs: maps.Clone(d.docs), lives: d.lives}
	if r.op == "delete" {
		delete(next.docs, r.doc.Key)
		return next.written(), answer{}
	}
	next.lives = maps.Clone(d.lives)
	next.lives[r.doc.Key]++
	doc := r.doc
	doc.Version = store.Version(fmt.Sprint("v", next.lives[r.doc.Key]))
	next.docs[doc.Key] = doc
	return next.written(), answer{version: doc.Version}
}

func (d documents) list(prefix string) []store.Doc {
	var out []store.Doc
	for key, doc := range d.docs {
		if strings.HasPrefix(key, prefix) {
			out = append(out, doc)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Key < out[j].Key })
	return out
}

// script is what one process does; it tells the player what came of it.
type script func(p *player)

// event is something that a script tells: an operation and its result.
type event struct {
	op      string // append, read, snapshot, other
	data    string // of the append
	index   uint64 // of the append
	after   uint64
	records []store.Record // of the read, or of the snapshot
	head    uint64
	err     error
}

// player runs a script with recorded answers. It is the Docs of its log.
type player struct {
	log    *log
	past   []answer
	at     int
	events []event
	next   request // that has no answer yet
}

// waiting is panicked with at the first request that has no answer.
type waiting struct{}

// play runs a script as far as the answers go. over says that it came to its end.
// With single the documents have no store.GetMany.
func play(name string, known uint64, s script, past []answer, single bool) (p *player, over bool) {
	p = &player{past: past}
	p.log = handleOn(p, name)
	if single {
		p.log = handleOn(struct{ Docs }{p}, name)
	}
	p.log.reached(known)
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(waiting); !ok {
				panic(r)
			}
		}
	}()
	s(p)
	over = true
	return p, over
}

// handleOn is a handle whose names are the same in each run.
func handleOn(docs Docs, name string) *log {
	l, err := newLog(docs, Options{Ahead: 1, PartBytes: 1 << 10})
	if err != nil {
		panic(err)
	}
	l.life = name
	return l
}

func (p *player) ask(r request) answer {
	if p.at == len(p.past) {
		p.next = r
		panic(waiting{})
	}
	p.at++
	return p.past[p.at-1]
}

func (p *player) Get(_ context.Context, key string) (store.Doc, error) {
	a := p.ask(request{op: "get", doc: store.Doc{Key: key}})
	if a.err != nil {
		return store.Doc{}, a.err
	}
	return a.docs[0], nil
}

func (p *player) Gets(_ context.Context, keys []string) ([]store.Doc, error) {
	a := p.ask(request{op: "gets", keys: keys})
	return a.docs, a.err
}

func (p *player) Put(_ context.Context, d store.Doc) (store.Version, error) {
	a := p.ask(request{op: "put", doc: d})
	return a.version, a.err
}

func (p *player) Delete(_ context.Context, key string, v store.Version) error {
	return p.ask(request{op: "delete", doc: store.Doc{Key: key, Version: v}}).err
}

func (p *player) List(_ context.Context, prefix string) ([]store.Doc, error) {
	a := p.ask(request{op: "list", prefix: prefix})
	return a.docs, a.err
}

func (p *player) Close() error { return nil }

func (p *player) append(data string) {
	index, err := p.log.Append(context.Background(), []byte(data))
	p.events = append(p.events, event{op: "append", data: data, index: index, err: err})
}

// readAll reads from the beginning to the head, by the snapshot where it must, and returns all.
func (p *player) readAll() ([]store.Record, bool) {
	var all []store.Record
	for begins := uint64(0); ; {
		after := begins
		if len(all) > 0 {
			after = all[len(all)-1].Index
		}
		page, err := p.log.Read(context.Background(), after, 2)
		p.events = append(p.events, event{op: "read", after: after, records: page.Records, head: page.Head, err: err})
		switch {
		case errors.Is(err, store.ErrTruncated):
			snapshot, err := p.log.Snapshot(context.Background())
			all = decodeAll(snapshot)
			p.events = append(p.events, event{op: "snapshot", records: all, err: err})
			if err == nil {
				continue
			}
			if !errors.Is(err, store.ErrNotFound) {
				return nil, false
			}
			m, _, err := p.log.readMeta(context.Background()) // it was seeded
			if err != nil {
				return nil, false
			}
			begins = m.Base
			continue
		case err != nil:
			return nil, false
		}
		all = append(all, page.Records...)
		if len(all) == 0 || all[len(all)-1].Index >= page.Head {
			return all, true
		}
	}
}

// compact reads all, saves it as a snapshot, and trims up to it.
func (p *player) compact() {
	all, ok := p.readAll()
	if !ok || len(all) == 0 {
		return
	}
	last := all[len(all)-1].Index
	err := p.log.SaveSnapshot(context.Background(), store.Record{Index: last, Data: encodeAll(all)})
	p.events = append(p.events, event{op: "save", err: err})
	if err == nil {
		p.events = append(p.events, event{op: "trim", err: p.log.Trim(context.Background(), last)})
	}
}

// encodeAll and decodeAll lay records out as the data of a snapshot. The first may stand for a seed.
func encodeAll(all []store.Record) []byte {
	var b strings.Builder
	for _, r := range all {
		fmt.Fprintf(&b, "%d %s\n", r.Index, r.Data)
	}
	return []byte(b.String())
}

func decodeAll(snapshot store.Record) []store.Record {
	var all []store.Record
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

// digest is short and changes with each answer.
func digest(before string, a answer) string {
	sum := sha256.Sum256([]byte(before + a.String()))
	return string(sum[:12])
}
