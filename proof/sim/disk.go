package sim

import (
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/model"
	"github.com/rota-run/rota/store"
)

// disk is the store's side: what it has acknowledged, and its sessions. It keeps its contract.
type disk struct {
	w        *world
	records  []store.Record // behind trimmed
	trimmed  uint64
	head     uint64
	snapshot store.Record
	docs     model.Docs[owner]
	changes  int // of docs so far
	versions uint64
	sessions []*session
	tombs    map[string]*process // documents that were ended on a store without sessions, and whose they were
	opened   int                 // sessions so far
	older    isolated            // from some time ago
	away     bool
	full     bool
	room     *room
}

// owner is whose a document is.
type owner struct {
	session *session
	by      *process // its writer, if it is of no session
}

func (d *disk) append(data []byte) uint64 {
	d.head++
	if d.w.plan.sparse {
		d.head += uint64(d.w.chance.between(0, 3))
	}
	rec := store.Record{Index: d.head, Data: data}
	d.records = append(d.records, rec)
	d.w.oracle.appended(rec)
	d.w.tell("")
	return d.head
}

// write appends an entry that no member has written.
func (d *disk) write(e cluster.Entry) uint64 { return d.append(d.w.machine.Encode(e)) }

func (d *disk) read(after uint64, limit int) (store.Page, error) {
	if after < d.trimmed {
		return store.Page{}, store.ErrTruncated
	}
	i := sort.Search(len(d.records), func(i int) bool { return d.records[i].Index > after })
	page := d.records[i:min(len(d.records), i+limit)]
	return store.Page{Records: slices.Clip(page), Head: d.head}, nil
}

func (d *disk) trim(index uint64) {
	index = min(index, d.snapshot.Index)
	i := sort.Search(len(d.records), func(i int) bool { return d.records[i].Index > index })
	d.records = slices.Clone(d.records[i:])
	d.trimmed = max(d.trimmed, index)
}

func (d *disk) put(doc store.Doc, s *session, by *process) (store.Version, error) {
	i, ok, err := d.docs.Over(doc)
	switch {
	case by != nil && d.tombs[doc.Key] == by:
		return "", store.ErrSession
	case err != nil:
		return "", err
	case ok && d.docs[i].Of.session != nil: // a tie is that of the session which created the document: see store.Session
		s = d.docs[i].Of.session
	}
	d.versions++
	doc.Version = store.Version(strconv.FormatUint(d.versions, 10))
	d.docs = d.docs.Stored(i, ok, model.Doc[owner]{Doc: doc, Of: owner{s, by}})
	d.changed(doc.Key)
	return doc.Version, nil
}

// remove takes a document away that is there.
func (d *disk) remove(i int) {
	key := d.docs[i].Key
	d.docs = slices.Delete(d.docs, i, i+1)
	d.changed(key)
}

// entomb ends what a process has written to documents: what it has sent before comes to nothing.
func (d *disk) entomb(p *process, keys []string) {
	for _, key := range keys {
		i, ok := d.docs.Find(key)
		if ok && d.docs[i].Of.by != p {
			continue
		}
		if d.tombs[key] = p; ok {
			d.remove(i)
		}
	}
}

func (d *disk) delete(key string, v store.Version) error {
	i, err := d.docs.At(key, v)
	if err == nil {
		d.remove(i)
	}
	return err
}

// changed says that a document was written or has gone.
func (d *disk) changed(key string) {
	d.changes++
	if o := d.w.oracle; o.truth != nil {
		o.took(o.truth(o.ref, func() []store.Doc { return d.docs.List("") }, key))
	}
	d.w.tell(key)
}

// tell hints at a change of a document, or, for "", of the log, as a store that has watches does.
func (w *world) tell(key string) {
	if !w.plan.watches {
		return
	}
	for _, p := range w.procs {
		if !p.up {
			continue
		}
		for _, prefix := range w.machine.Told(p.state, key) {
			w.hint(p, prefix)
		}
	}
}

// hint tells a member of a change below a prefix, or, where that is empty, of the log.
func (w *world) hint(p *process, prefix string) {
	d := p.chance.between(int64(50*time.Microsecond), int64(5*time.Millisecond))
	if p.takes(func(k machine.Kind) bool { return k == machine.WatchLost }) != "" {
		return
	}
	if p.takes(func(k machine.Kind) bool { return k == machine.WatchLate }) != "" {
		d = p.chance.between(0, 2*int64(w.plan.ttl))
	}
	if p.hinted[prefix] {
		return // merged with the one that is on its way
	}
	p.hinted[prefix] = true
	w.after(d, func() {
		p.reaches(func() {
			p.hinted[prefix] = false
			if !p.cutIn && !w.disk.away {
				p.post(member.Hinted{Prefix: prefix})
			}
		})
	})
}

// isolated is a copy of the store that was cut off from the others and does not know it: it answers reads with what
// was, and with writes that only it has and that were never acknowledged.
type isolated struct {
	docs   model.Docs[owner]    // as they were when it was cut off
	writes map[string]store.Doc // that were never acknowledged
}

// isolate keeps what a copy shows that is cut off now.
func (d *disk) isolate() {
	d.older = isolated{docs: slices.Clone(d.docs), writes: map[string]store.Doc{}}
}

// strand lets a write that nobody acknowledges reach the isolated copy alone.
func (d *disk) strand(doc store.Doc) {
	old, _ := d.older.get(doc.Key)
	if old.Version != doc.Version {
		return // for this copy too somebody else was quicker
	}
	doc.Version = "isolated-" + doc.Version
	d.older.writes[doc.Key] = doc
}

func (o isolated) get(key string) (store.Doc, error) {
	if doc, ok := o.writes[key]; ok {
		return doc, nil
	}
	return o.docs.Get(key)
}

// session is a session on the store's side.
type session struct {
	d     *disk
	id    int
	p     *process
	ttl   time.Duration
	heard int64 // true time of the last sign of life
	over  bool
	lost  bool // its client has given it up, and the store has yet to notice
}

// forsaken tells whether its client gives it up: it has heard nothing for so long that the store may end it at any
// moment.
func (s *session) forsaken() bool {
	if s.d.w.plan.mode == Leases && s.d.w.now-s.heard > int64(s.ttl)*7/8 {
		s.lost = true
	}
	return s.lost
}

func (d *disk) open(p *process, ttl time.Duration) *session {
	d.opened++
	s := &session{d: d, id: d.opened, p: p, ttl: ttl, heard: d.w.now}
	d.sessions = append(d.sessions, s)
	if d.w.plan.mode == Leases {
		d.w.after(int64(ttl), s.expire)
		d.w.after(int64(ttl)/3, s.keepAlive)
	}
	return s
}

// keepAlive is what the client library of a real store does beside the member's own calls.
func (s *session) keepAlive() {
	if s.over || !s.p.up || s.forsaken() {
		return
	}
	if !s.p.paused && !s.p.cutOut && !s.p.cutIn && !s.d.away {
		s.heard = s.d.w.now
	}
	s.d.w.after(int64(s.ttl)/3, s.keepAlive)
}

func (s *session) expire() {
	if s.over {
		return
	}
	if left := s.heard + int64(s.ttl) - s.d.w.now; left > 0 {
		s.d.w.after(left, s.expire)
		return
	}
	if s.p.up {
		s.d.w.count(machine.SessionExpiry, machine.Cluster)
	}
	s.end()
}

// end removes the session and its documents.
func (s *session) end() {
	if s.over {
		return
	}
	s.over = true
	s.d.sessions = slices.DeleteFunc(s.d.sessions, func(o *session) bool { return o == s })
	for i := 0; i < len(s.d.docs); {
		if s.d.docs[i].Of.session == s {
			s.d.remove(i)
		} else {
			i++
		}
	}
}

// died tells the disk that a process has ended: a kernel drops its locks, unless a guardian has a copy.
func (d *disk) died(p *process) {
	if d.w.plan.mode != KernelLock {
		return
	}
	for _, s := range slices.Clone(d.sessions) {
		if s.p == p && !p.guard.holds(s) {
			s.end()
		}
	}
}
