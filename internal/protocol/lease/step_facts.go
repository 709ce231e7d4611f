package lease

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/store"
)

// facts are documents as they were read, decoded. Nobody changes them.
type facts struct {
	docs []fact // as read, sorted by key, also those that are not there
	configFact
	nodesFact
	jobs       []*jobFact       // sorted by ID
	partitions []*partitionFact // sorted by key
	made       *cluster.Value   // what the documents make; nil where that was not asked for
}

// fact is a document, and what it says: a *configFact, *nodesFact, *nodeFact, *jobFact or *partitionFact, or nothing
// that others are decided by. What is damaged counts as unknown.
type fact struct {
	store.Doc
	says any
	err  error
}

type configFact struct {
	config   configDoc
	settings cluster.Settings
}

type nodesFact struct {
	nodes   nodesDoc
	members []cluster.Member
}

// nodeFact is a heartbeat. One that is damaged is for nobody to complain of but its owner.
type nodeFact struct {
	doc nodeDoc
	ttl time.Duration // that it states
	err error
}

type jobFact struct {
	doc jobDoc
	job cluster.Job
}

type partitionFact struct {
	key       string
	doc       partitionDoc
	partition cluster.Partition
	said      []cluster.Command
}

// defaults are the settings of a place where nothing was configured.
func defaults() cluster.Settings { return cluster.Settings{Placement: cluster.PlacementClaimed} }

// partition is what a document says of one.
func (f *facts) partition(d store.Doc) (*partitionFact, bool) {
	x, ok := f.doc(d.Key)
	if !ok || x.err != nil || !x.same(d) {
		x = decoded(d)
	}
	p, ok := x.says.(*partitionFact)
	return p, ok
}

// learn decodes documents.
func learn(docs []store.Doc) *facts { return (&facts{}).learn(docs) }

// learn decodes documents, but for those that are as they are known already: most of them are, and decoding is most of
// the work.
func (f *facts) learn(docs []store.Doc) *facts {
	next := &facts{docs: make([]fact, 0, len(docs)), configFact: configFact{settings: defaults()}}
	known := f.docs
	for _, d := range inOrder(docs) {
		if len(known) > 0 && known[0].Key < d.Key {
			i, _ := find(known, d.Key)
			known = known[i:]
		}
		if len(known) > 0 && known[0].err == nil && known[0].same(d) {
			next.docs, known = append(next.docs, known[0]), known[1:]
		} else {
			next.docs = append(next.docs, decoded(d))
		}
		next.take(next.docs[len(next.docs)-1].says)
	}
	return next
}

// inOrder sorts documents by key. Of those that were read twice it keeps the last.
func inOrder(docs []store.Doc) []store.Doc {
	for i := range docs {
		if i > 0 && docs[i-1].Key >= docs[i].Key {
			docs = slices.Clone(docs)
			slices.Reverse(docs)
			slices.SortStableFunc(docs, func(a, b store.Doc) int { return strings.Compare(a.Key, b.Key) })
			return slices.CompactFunc(docs, func(a, b store.Doc) bool { return a.Key == b.Key })
		}
	}
	return docs
}

func find(docs []fact, key string) (int, bool) {
	return slices.BinarySearchFunc(docs, key, func(x fact, key string) int { return strings.Compare(x.Key, key) })
}

func (f *facts) take(says any) {
	switch says := says.(type) {
	case *configFact:
		f.configFact = *says
	case *nodesFact:
		f.nodesFact = *says
	case *jobFact:
		f.jobs = append(f.jobs, says)
	case *partitionFact:
		f.partitions = append(f.partitions, says)
	}
}

// doc is what was read under a key; false if that was not read.
func (f *facts) doc(key string) (fact, bool) {
	if i, ok := find(f.docs, key); ok {
		return f.docs[i], true
	}
	return fact{}, false
}

var noJob = &jobFact{} // read-only: what job returns where there is none

// read is the document of a key; the zero value if it was not read.
func (f *facts) read(key string) store.Doc {
	x, _ := f.doc(key)
	return x.Doc
}

// job returns what is known of a job.
func (f *facts) job(id cluster.JobID) (*jobFact, bool) {
	i, ok := slices.BinarySearchFunc(f.jobs, id,
		func(j *jobFact, id cluster.JobID) int { return cmp.Compare(j.job.ID, id) })
	if ok {
		return f.jobs[i], true
	}
	return noJob, false
}

// same tells whether another read has found the same.
func (x fact) same(d store.Doc) bool {
	return x.Key == d.Key && x.Version == d.Version && bytes.Equal(x.Value, d.Value)
}

// same tells whether two looks at all documents have found the same, but for heartbeats.
func (f *facts) same(other *facts) bool {
	beats, after := f.heartbeats()
	otherBeats, otherAfter := other.heartbeats()
	same := func(a, b fact) bool { return a.same(b.Doc) }
	return slices.EqualFunc(f.docs[:beats], other.docs[:otherBeats], same) &&
		slices.EqualFunc(f.docs[after:], other.docs[otherAfter:], same)
}

// heartbeats are the first one, and what follows the last.
func (f *facts) heartbeats() (first, after int) {
	first, _ = find(f.docs, nodePrefix)
	after, _ = find(f.docs, nodePrefix+"\xff") // no key has such a byte
	return first, after
}

// decoded is a document that was read.
func decoded(d store.Doc) fact {
	x := fact{Doc: d}
	switch {
	case d.Version == "":
	case d.Key == keyConfig:
		c := &configFact{}
		if c.config, x.err = read[configDoc](d); x.err == nil {
			c.settings, x.err = cluster.DecodeSettings(c.config.Settings)
		}
		x.says = c
	case d.Key == keyNodes:
		n := &nodesFact{}
		if n.nodes, x.err = read[nodesDoc](d); x.err == nil {
			n.members, x.err = n.nodes.members()
		}
		x.says = n
	case strings.HasPrefix(d.Key, nodePrefix):
		n := &nodeFact{ttl: heartbeat.StatedTTL(d.Value)}
		n.doc, n.err = read[nodeDoc](d)
		x.says = n
	case strings.HasPrefix(d.Key, jobPrefix):
		j := &jobFact{}
		if j.doc, x.err = read[jobDoc](d); x.err == nil {
			j.job, x.err = cluster.DecodeJob(j.doc.Job)
		}
		if x.err == nil && jobKey(j.job.ID) != d.Key {
			x.err = fmt.Errorf("it has the record of %q", j.job.ID)
		}
		x.says = j
	case strings.HasPrefix(d.Key, partitionPrefix):
		p := &partitionFact{key: d.Key}
		if p.doc, x.err = read[partitionDoc](d); x.err == nil {
			p.partition, p.said, x.err = p.doc.decode(d.Key)
		}
		x.says = p
	}
	if x.err != nil {
		x.says, x.err = nil, damaged(d.Key, x.err)
	}
	return x
}

// problem is why one of the documents cannot be used; nil if all can.
func (f *facts) problem(keys ...string) error {
	for _, k := range keys {
		if x, _ := f.doc(k); x.err != nil {
			return x.err
		}
	}
	return nil
}

// member is one of the Node List; the zero value if it is not in it.
func (f *facts) member(id cluster.MemberID) cluster.Member {
	if i := slices.IndexFunc(f.members, func(m cluster.Member) bool { return m.ID == id }); i >= 0 {
		return f.members[i]
	}
	return cluster.Member{}
}

// live tells whether a session is in the Node List.
func (f *facts) live(session string) bool {
	return slices.ContainsFunc(f.nodes.Nodes, func(n nodeEntry) bool { return n.Token == session })
}

// parts are the records of the value. What belongs to a former submission of its job is there only until its holder has
// stopped.
func (f *facts) parts() cluster.Parts {
	parts := cluster.Parts{Index: f.nodes.Index, Settings: f.settings, Members: f.members}
	for _, j := range f.jobs {
		parts.Jobs = append(parts.Jobs, j.job)
	}
	for _, p := range f.partitions {
		if part, ok := f.part(p); ok {
			parts.Partitions = append(parts.Partitions, part)
		}
	}
	return parts
}

func (f *facts) part(p *partitionFact) (cluster.Part, bool) {
	part := cluster.Part{Partition: p.partition, By: p.doc.By}
	part.ChangedMS = max(part.ChangedMS, f.nodes.leftMS(part.By))
	if !p.there() || f.superseded(p) {
		return part, false
	}
	if f.current(p) {
		return part, true
	}
	if p.doc.Holder == "" || !f.live(p.doc.Holder) {
		return part, false
	}
	part.State, part.Dropped, part.Next, part.NextToken = cluster.PartitionReleasing, true, "", 0
	return part, true
}

// there tells whether there is a partition, and not only its document.
func (p *partitionFact) there() bool { return p.doc.State != gone && p.doc.State != listed }

// current tells whether a partition belongs to the present submission of its job.
func (f *facts) current(p *partitionFact) bool {
	job, _, _ := p.partition.ID.Split()
	j, ok := f.job(job)
	return ok && j.doc.Submitted == p.doc.Of
}

// superseded tells whether a partition is offered as a share of a former layout of its task. It may have been written
// late, and is never claimed.
func (f *facts) superseded(p *partitionFact) bool {
	if p.partition.Count == 0 || !p.partition.Offered {
		return false
	}
	job, task, _ := p.partition.ID.Split()
	j, _ := f.job(job)
	return p.doc.Layout != j.doc.Layouts[task]
}

// value assembles the documents.
func (f *facts) value() cluster.Value {
	if f.made != nil {
		return *f.made
	}
	return cluster.Assemble(f.parts())
}

// assemble makes the value, from that of former facts where only partitions differ. It is called before others see the
// facts.
func (f *facts) assemble(was *facts) {
	same := func(key string) bool { x, _ := f.doc(key); return x.same(was.read(key)) }
	var v cluster.Value
	if was.made != nil && same(keyConfig) && same(keyNodes) && slices.Equal(f.jobs, was.jobs) {
		v = was.made.Reassemble(f.since(was))
	} else {
		v = cluster.Assemble(f.parts())
	}
	f.made = &v
}

// since are the partitions that differ from former ones.
func (f *facts) since(was *facts) (changed []cluster.Part, gone []cluster.PartitionID) {
	old := was.partitions
	for _, p := range f.partitions {
		for ; len(old) > 0 && old[0].key < p.key; old = old[1:] {
			gone = append(gone, old[0].partition.ID)
		}
		if len(old) > 0 && old[0].key == p.key {
			was := old[0]
			if old = old[1:]; was == p {
				continue
			}
		}
		if part, ok := f.part(p); ok {
			changed = append(changed, part)
		} else {
			gone = append(gone, p.partition.ID)
		}
	}
	for _, p := range old {
		gone = append(gone, p.partition.ID)
	}
	return changed, gone
}

// of returns what is known of one partition.
func (f *facts) of(key string) (*partitionFact, bool) {
	x, _ := f.doc(key)
	p, ok := x.says.(*partitionFact)
	return p, ok
}
