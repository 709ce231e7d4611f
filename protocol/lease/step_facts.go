package lease

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
)

// facts are documents as they were read, decoded. Nobody changes them.
type facts struct {
	docs map[string]fact // as read, also those that are not there
	configFact
	nodesFact
	jobs       map[cluster.JobID]jobFact
	jobIDs     []cluster.JobID // sorted by key
	partitions []partitionFact // sorted by key
}

// fact is a document, and what it says: a configFact, nodesFact, jobFact or partitionFact, or nothing that others are decided by. What is damaged counts as unknown.
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

// learn decodes documents, sorted by key.
func learn(docs []store.Doc) *facts { return (&facts{}).learn(docs) }

// learn decodes documents, but for those that are as they are known already: most of them are, and decoding is most of the work.
func (f *facts) learn(docs []store.Doc) *facts {
	next := &facts{docs: make(map[string]fact, len(docs)), jobs: make(map[cluster.JobID]jobFact), configFact: configFact{settings: defaults()}}
	for _, d := range docs {
		x := f.docs[d.Key]
		if d.Version == "" {
			x = fact{Doc: d}
		} else if x.err != nil || !x.same(d) {
			x = decoded(d)
		}
		next.docs[d.Key] = x
		switch says := x.says.(type) {
		case configFact:
			next.configFact = says
		case nodesFact:
			next.nodesFact = says
		case jobFact:
			next.jobs[says.job.ID] = says
			next.jobIDs = append(next.jobIDs, says.job.ID)
		case partitionFact:
			next.partitions = append(next.partitions, says)
		}
	}
	byKey := func(a, b partitionFact) int { return strings.Compare(a.key, b.key) }
	if !slices.IsSortedFunc(next.partitions, byKey) {
		slices.SortFunc(next.partitions, byKey)
	}
	return next
}

// same tells whether another read has found the same.
func (x fact) same(d store.Doc) bool { return x.Version == d.Version && bytes.Equal(x.Value, d.Value) }

// same tells whether two looks at all documents have found the same, but for heartbeats.
func (f *facts) same(other *facts) bool {
	n := 0
	for k, d := range f.docs { // order-free: all are compared
		if strings.HasPrefix(k, nodePrefix) {
			continue
		}
		if was, ok := other.docs[k]; !ok || !was.same(d.Doc) {
			return false
		}
		n++
	}
	for k := range other.docs { // order-free: they are counted
		if !strings.HasPrefix(k, nodePrefix) {
			n--
		}
	}
	return n == 0
}

// decoded is a document that was read.
func decoded(d store.Doc) fact {
	x := fact{Doc: d}
	switch {
	case d.Key == keyConfig:
		var c configFact
		if c.config, x.err = read[configDoc](d); x.err == nil {
			c.settings, x.err = cluster.DecodeSettings(c.config.Settings)
		}
		x.says = c
	case d.Key == keyNodes:
		var n nodesFact
		if n.nodes, x.err = read[nodesDoc](d); x.err == nil {
			n.members, x.err = n.nodes.members()
		}
		x.says = n
	case strings.HasPrefix(d.Key, jobPrefix):
		var j jobFact
		if j.doc, x.err = read[jobDoc](d); x.err == nil {
			j.job, x.err = cluster.DecodeJob(j.doc.Job)
		}
		x.says = j
	case strings.HasPrefix(d.Key, partitionPrefix):
		p := partitionFact{key: d.Key}
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
		if err := f.docs[k].err; err != nil {
			return err
		}
	}
	return nil
}

// live tells whether a session is in the Node List.
func (f *facts) live(session string) bool {
	for _, n := range f.nodes.Nodes {
		if n.Token == session {
			return true
		}
	}
	return false
}

// parts are the records of the value. What belongs to a former submission of its job is there only until its holder has stopped.
func (f *facts) parts() cluster.Parts {
	parts := cluster.Parts{Index: f.nodes.Index, Settings: f.settings, Members: f.members}
	for _, id := range f.jobIDs {
		parts.Jobs = append(parts.Jobs, f.jobs[id].job)
	}
	for _, p := range f.partitions {
		if part, ok := f.part(p); ok {
			parts.Partitions = append(parts.Partitions, part)
		}
	}
	return parts
}

func (f *facts) part(p partitionFact) (cluster.Part, bool) {
	part := cluster.Part{Partition: p.partition, By: p.doc.By}
	part.ChangedMS = max(part.ChangedMS, f.nodes.leftMS(part.By))
	if p.doc.State == gone || f.superseded(p) {
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

// current tells whether a partition belongs to the present submission of its job.
func (f *facts) current(p partitionFact) bool {
	job, _, _ := p.partition.ID.Split()
	j, ok := f.jobs[job]
	return ok && j.doc.Submitted == p.doc.Of
}

// superseded tells whether a partition is offered as a share of a former layout of its task. It may have been written late, and is never claimed.
func (f *facts) superseded(p partitionFact) bool {
	job, task, _ := p.partition.ID.Split()
	return p.partition.Count != 0 && p.partition.Offered && p.doc.Layout != f.jobs[job].doc.Layouts[task]
}

// value assembles the documents.
func (f *facts) value() cluster.Value { return cluster.Assemble(f.parts()) }

// of returns what is known of one partition.
func (f *facts) of(key string) (partitionFact, bool) {
	if i, ok := slices.BinarySearchFunc(f.partitions, key, func(p partitionFact, key string) int { return strings.Compare(p.key, key) }); ok {
		return f.partitions[i], true
	}
	return partitionFact{}, false
}
