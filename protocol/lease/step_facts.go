package lease

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
)

// facts are documents as they were read, decoded. Nobody changes them.
type facts struct {
	docs       map[string]store.Doc // as read, also those that are not there
	config     configDoc
	settings   cluster.Settings
	nodes      nodesDoc
	members    []cluster.Member
	jobs       map[cluster.JobID]jobFact
	jobIDs     []cluster.JobID // sorted by key
	partitions []partitionFact // sorted by key
	damaged    map[string]error
	newer      error // a document that a newer Rota wrote
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

// learn decodes documents, sorted by key. What is damaged counts as unknown.
func learn(docs []store.Doc) *facts { return (&facts{}).learn(docs) }

// learn decodes documents, but for those that are as they are known already: most of them are, and decoding is most of the work.
func (f *facts) learn(docs []store.Doc) *facts {
	next := &facts{docs: make(map[string]store.Doc, len(docs)), jobs: make(map[cluster.JobID]jobFact), damaged: make(map[string]error), settings: defaults()}
	for _, d := range docs {
		next.docs[d.Key] = d
		if d.Version == "" || next.takeKnown(f, d) {
			continue
		}
		if err := next.take(d); err != nil {
			next.damaged[d.Key] = err
			var newer *cluster.FormatError
			if errors.As(err, &newer) {
				next.newer = err
			}
		}
	}
	byKey := func(a, b partitionFact) int { return strings.Compare(a.key, b.key) }
	if !slices.IsSortedFunc(next.partitions, byKey) {
		slices.SortFunc(next.partitions, byKey)
	}
	return next
}

// takeKnown takes over what is known of a document, if it has not changed.
func (f *facts) takeKnown(known *facts, d store.Doc) bool {
	was := known.docs[d.Key]
	if was.Version != d.Version || known.damaged[d.Key] != nil || !bytes.Equal(was.Value, d.Value) {
		return false
	}
	switch {
	case d.Key == keyConfig:
		f.config, f.settings = known.config, known.settings
	case d.Key == keyNodes:
		f.nodes, f.members = known.nodes, known.members
	case strings.HasPrefix(d.Key, jobPrefix):
		id := cluster.JobID(d.Key[len(jobPrefix):])
		job, ok := known.jobs[id]
		if !ok {
			return false
		}
		f.jobs[id] = job
		f.jobIDs = append(f.jobIDs, id)
	case strings.HasPrefix(d.Key, partitionPrefix):
		p, ok := known.of(d.Key)
		if !ok {
			return false
		}
		f.partitions = append(f.partitions, p)
	}
	return true
}

// same tells whether two looks at all documents have found the same, but for heartbeats.
func (f *facts) same(other *facts) bool {
	n := 0
	for k, d := range f.docs { // order-free: all are compared
		if strings.HasPrefix(k, nodePrefix) {
			continue
		}
		if was, ok := other.docs[k]; !ok || was.Version != d.Version || !bytes.Equal(was.Value, d.Value) {
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

func (f *facts) take(d store.Doc) (err error) {
	switch {
	case d.Key == keyConfig:
		if f.config, _, err = read[configDoc](d); err == nil {
			f.settings, err = cluster.DecodeSettings(f.config.Settings)
		}
	case d.Key == keyNodes:
		if f.nodes, _, err = read[nodesDoc](d); err == nil {
			f.members, err = f.nodes.members()
		}
	case strings.HasPrefix(d.Key, jobPrefix):
		return f.takeJob(d)
	case strings.HasPrefix(d.Key, partitionPrefix):
		return f.takePartition(d)
	}
	return err
}

func (f *facts) takeJob(d store.Doc) error {
	doc, _, err := read[jobDoc](d)
	if err != nil {
		return err
	}
	job, err := cluster.DecodeJob(doc.Job)
	if err != nil {
		return &DamagedError{Key: d.Key, Err: err}
	}
	f.jobs[job.ID] = jobFact{doc, job}
	f.jobIDs = append(f.jobIDs, job.ID)
	return nil
}

func (f *facts) takePartition(d store.Doc) error {
	doc, _, err := read[partitionDoc](d)
	if err != nil {
		return err
	}
	p, err := doc.partition(d.Key)
	if err != nil {
		return err
	}
	said, err := doc.said(d.Key)
	if err != nil {
		return err
	}
	f.partitions = append(f.partitions, partitionFact{d.Key, doc, p, said})
	return nil
}

// problem is why one of the documents cannot be used; nil if all can.
func (f *facts) problem(keys ...string) error {
	for _, k := range keys {
		if err := f.damaged[k]; err != nil {
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
