package lease

import (
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/store"
)

// writer is who decides a command, and what it has in hand.
type writer struct {
	session string        // of the member that decides; "" for a client
	write   string        // names this write
	proved  string        // the fence in this document was acknowledged
	index   cluster.Index // given for this command; 0: none yet
	more    cluster.Index // so many are taken with it, for the submissions that follow
	atMS    int64         // wall clock, for people
}

// verdict is what a command leads to, given documents.
type verdict struct {
	more   []string      // these documents must be read too; nothing else is set
	put    store.Doc     // to be written over the version in it; no key: nothing
	index  cluster.Index // the write is not of the deciding document: it takes this index, then decide again
	again  bool          // the write is not of the deciding document: decide again after it
	result cluster.Result
	err    error // a document that it needs is damaged
}

func refused(why string) verdict { return verdict{result: cluster.Result{Reason: why}} }

// needs are the documents by which a command is decided: first the one that decides it, and then those that must be
// read after it.
func needs(c cluster.Command) []string {
	switch c := c.(type) {
	case cluster.Configure, cluster.Rebalance, cluster.Place:
		return []string{keyConfig}
	case cluster.SubmitJob:
		return jobNeeds(c.Job, c.By)
	case cluster.UpdateJob:
		return jobNeeds(c.Job, c.By)
	case cluster.KillJob:
		return jobNeeds(c.Job, c.By)
	case cluster.PauseJob:
		return jobNeeds(c.Job, "")
	case cluster.ResumeJob:
		return jobNeeds(c.Job, "")
	}
	id := subject(c)
	if id == "" {
		return []string{keyNodes, keyConfig}
	}
	job, task, _ := id.Split()
	keys := []string{partitionKey(id), jobKey(job), keyNodes, keyConfig}
	for _, k := range others(c) {
		keys = append(keys, partitionKey(cluster.NewPartitionID(job, task, k)))
	}
	return keys
}

// others are the other partitions of its task that a command names.
func others(c cluster.Command) (keys []string) {
	switch c := c.(type) {
	case cluster.AdvanceWindow:
		keys = slices.Clone(c.Done)
		for _, it := range c.Items {
			keys = append(keys, it.Key)
		}
	case cluster.SplitPartition:
		for _, ch := range c.Children {
			keys = append(append(keys, ch.Key), ch.Parents...)
		}
	}
	return keys
}

func jobNeeds(job cluster.JobID, by cluster.PartitionID) []string {
	keys := []string{jobKey(job), keyConfig}
	if by != "" {
		id, _, _ := by.Split()
		keys = append(keys, partitionKey(by), jobKey(id), keyNodes)
	}
	return keys
}

// subject is the partition whose document decides a command; "" for other commands.
func subject(c cluster.Command) cluster.PartitionID {
	switch c := c.(type) {
	case cluster.Claim:
		return c.Partition
	case cluster.Started:
		return c.Partition
	case cluster.Stopped:
		return c.Partition
	case cluster.FinishPartition:
		return c.Partition
	case cluster.SplitPartition:
		return c.Partition
	case cluster.AdvanceWindow:
		return c.Partition
	case cluster.UnparkPartition:
		return c.Partition
	}
	return ""
}

// decide does a command on the value that the documents give, and says what to write. The write is conditional on the
// version that was read, and decides it.
func decide(c cluster.Command, f *facts, w writer) verdict {
	keys := needs(c)
	for i, k := range keys {
		if _, ok := f.doc(k); !ok {
			return verdict{more: keys[i:]}
		}
	}
	if err := f.problem(keys...); err != nil {
		return verdict{err: err}
	}
	switch keys[0] {
	case keyConfig:
		return decideConfig(c, f, w)
	case keyNodes:
		return decideMember(c, f, w)
	}
	if id := subject(c); id != "" {
		return decidePartition(c, id, f, w)
	}
	return decideJob(c, keys[0], f, w)
}

func (f *facts) version(key string) store.Version { return f.read(key).Version }

// over is a document that is to be written over the one that was read under its key.
func (f *facts) over(key string, x any) store.Doc { return written(key, f.version(key), x) }

// putConfig writes the settings, or takes an index.
func (f *facts) putConfig(s cluster.Settings, index cluster.Index, w writer) store.Doc {
	return f.over(keyConfig, configDoc{Index: index, Forgotten: f.config.Forgotten, Settings: s.Encode(),
		Write: w.write})
}

func decideConfig(c cluster.Command, f *facts, w writer) verdict {
	v, result := f.value().Do(f.config.Index, w.atMS, c)
	if !result.Accepted {
		return verdict{result: result}
	}
	return verdict{result: result, put: f.putConfig(v.Settings(), f.config.Index, w)}
}

func decideJob(c cluster.Command, key string, f *facts, w writer) verdict {
	v := f.value()
	at := max(w.index, f.config.Index+1)
	after, result := v.Do(at, w.atMS, c)
	if !result.Accepted || len(cluster.Changes(v, after)) == 0 {
		return verdict{result: result}
	}
	id := cluster.JobID(key[len(jobPrefix):])
	was, _ := f.job(id)
	if w.index <= max(was.doc.Submitted, was.job.SpecIndex, f.config.Forgotten) { // none, or one that was taken before what is there: tokens would fall
		return verdict{put: f.putConfig(f.settings, at+w.more, w), index: at}
	}
	after, result = v.Do(w.index, w.atMS, c)
	job, _ := after.Job(id)
	doc := was.doc
	if was, ok := v.Job(id); !ok || was.State != cluster.JobRunning {
		doc.Submitted = w.index
	}
	doc.State, doc.Tasks, doc.Job, doc.Write = job.State.String(), textsOf(job), job.Encode(), w.write
	return verdict{result: result, put: f.over(key, doc)}
}

func decideMember(c cluster.Command, f *facts, w writer) verdict {
	if f.version(keyConfig) == "" {
		return verdict{put: f.putConfig(defaults(), 0, w), again: true}
	}
	if v, ok := unfenced(c, f, w); !ok {
		return v
	}
	v := f.value()
	index := f.nodes.Index + 1
	after, result := v.Do(index, w.atMS, c)
	if !result.Accepted {
		return verdict{result: result}
	}
	if join, ok := c.(cluster.PrepareJoin); ok {
		after = admitted(after, join.Member, w.atMS)
	}
	nodes := nodesOf(after, index, w.write)
	nodes.Left = f.nodes.left(v, after, w.atMS)
	return verdict{result: result, put: f.over(keyNodes, nodes)}
}

// admitted joins a member that has just entered: it has written its heartbeat before.
func admitted(v cluster.Value, id cluster.MemberID, atMS int64) cluster.Value {
	m, _ := v.Member(id)
	for by := range v.Members() {
		if v.Successor(by.ID) == id {
			v, _ = v.Do(m.Incarnation, atMS, cluster.AcceptJoin{Member: id, Incarnation: m.Incarnation, By: by.ID,
				ByIncarnation: by.Incarnation})
		}
	}
	return v
}

// unfenced refuses to remove a member whose session may still be renewed; true where nothing is in the way. The member
// itself may leave. What is read may never have been acknowledged: a fence is written once more before it counts. That
// a heartbeat is not there counts where the same request has shown the Node List, which was written after it.
func unfenced(c cluster.Command, f *facts, w writer) (verdict, bool) {
	var id cluster.MemberID
	switch c := c.(type) {
	case cluster.PrepareJoin:
		id = c.Member
	case cluster.LeaveCluster:
		id = c.Member
	case cluster.ConfirmMember:
		return refused("a session that has ended is not confirmed: the member joins again"), false
	}
	m := f.member(id)
	if m.ID == "" || m.State == cluster.MemberHeld || session(m) == w.session {
		return verdict{}, true
	}
	key := m.Heartbeat
	d, ok := f.doc(key)
	if !ok {
		return verdict{more: []string{keyNodes, key}}, false
	}
	n, err := read[nodeDoc](d.Doc)
	switch {
	case err != nil:
		return verdict{err: err}, false
	case d.Version != "" && n.State != heartbeat.Fenced:
		return refused("its session has not been fenced: it may be alive"), false
	case d.Version != "" && w.proved != key:
		n.Write = w.write
		return verdict{put: f.over(key, n), again: true}, false
	}
	return verdict{}, true
}

func decidePartition(c cluster.Command, id cluster.PartitionID, f *facts, w writer) verdict {
	key := partitionKey(id)
	fact, ok := f.of(key)
	if !ok || !fact.there() {
		return refused("no such partition")
	}
	at := fact.doc.Token
	if claim, ok := c.(cluster.Claim); ok {
		if at++; !f.current(fact) {
			return refused("it belongs to a former submission of its job")
		}
		if m := f.member(claim.Member); m.ID == "" || session(m) != w.session {
			return refused("who claims is another session of the member")
		}
		if fact.doc.Holder == w.session && fact.doc.State == outstanding { // by a write of which its maker did not hear: it counts when it was made once more
			doc := fact.doc
			doc.Write = w.write
			return verdict{result: cluster.Result{Accepted: true}, put: f.over(key, doc)}
		}
	}
	v := f.value()
	after, result := v.Do(at, w.atMS, c)
	if !result.Accepted {
		return verdict{result: result}
	}
	doc := fact.next(after, f, w)
	switch c := c.(type) {
	case cluster.SplitPartition:
		doc.Said = append(slices.Clip(doc.Said), saidDoc{Command: cluster.EncodeCommand(c)})
	case cluster.AdvanceWindow:
		if len(c.Items) > 0 && w.index == 0 {
			return verdict{put: f.putConfig(f.settings, f.config.Index+1, w), index: f.config.Index + 1}
		}
		doc.Said = append(slices.Clip(doc.Said), saidDoc{Index: w.index, Command: cluster.EncodeCommand(c)})
	}
	return verdict{result: result, put: f.over(key, doc)}
}

// next is the document of a partition as a value has it, written over the present one.
func (p *partitionFact) next(v cluster.Value, f *facts, w writer) partitionDoc {
	doc := p.doc
	rec, ok := v.Partition(p.partition.ID)
	if !ok {
		doc.Holder, doc.By, doc.State, doc.Said = "", 0, gone, nil
		left := cluster.Partition{ID: p.partition.ID, Token: doc.Token, From: p.partition.Owner,
			Cause: p.partition.Cause}
		doc.Task, doc.Write = left.Encode(), w.write
		return doc
	}
	rec.Token = max(rec.Token, doc.Token)
	doc.Token, doc.State, doc.Write = rec.Token, outstanding, w.write
	if rec.State == cluster.PartitionFinished {
		doc.State = done
	}
	if rec.Owner == "" || rec.Offered {
		doc.Holder, doc.By = "", 0
	} else if m, ok := v.Member(rec.Owner); ok && (doc.Holder == "" || !f.live(doc.Holder)) {
		doc.Holder, doc.By = session(m), m.Incarnation
	}
	doc.Task = rec.Encode()
	return doc
}
