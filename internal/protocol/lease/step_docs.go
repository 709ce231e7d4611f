package lease

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// The keys of the documents.
const (
	keyLeader  = "lock/leader"
	keyNodes   = "nodes"
	keyConfig  = "config"
	keyBoard   = "lock/board"
	viewPrefix = "view/"

	lockPrefix      = "lock/"
	nodePrefix      = protocol.NodePrefix
	jobPrefix       = "job/"
	partitionPrefix = "partition/"
)

type (
	// leaderDoc is the lock of the leader. It is valid while the session of its holder is.
	leaderDoc struct {
		Holder string `json:"holder"`
		Term   uint64 `json:"term"`
		Write  string `json:"write"` // who wrote this version, and which of its writes it was
	}
	// nodesDoc is the Node List. Its index grows with each write.
	nodesDoc struct {
		Nodes []nodeEntry   `json:"nodes"`
		Left  []leftEntry   `json:"left,omitempty"` // the last ones, oldest first
		Index cluster.Index `json:"index"`
		Write string        `json:"write"`
	}
	nodeEntry struct {
		Token   string `json:"token"`             // the session
		Workers int64  `json:"workers,omitempty"` // its slots, else the most partitions that it takes; for people
		Member  []byte `json:"member"`            // its record
	}
	// leftEntry is when a member has left, or is held since. It is for people: what it had claimed says nothing of
	// that.
	leftEntry struct {
		By   cluster.Incarnation `json:"by"`
		AtMS int64               `json:"at_ms"`
	}
	// nodeDoc is the heartbeat of one session. Who fences it names the write.
	nodeDoc struct {
		heartbeat.Text
		Write string `json:"write,omitempty"`
	}
	// configDoc has the settings, and the last index that was given to a submission.
	configDoc struct {
		Index     cluster.Index `json:"index"`
		Forgotten cluster.Index `json:"forgotten,omitempty"` // no forgotten job has a larger one
		Settings  []byte        `json:"settings"`
		Write     string        `json:"write"`
	}
	jobDoc struct {
		State     string            `json:"state"`
		Submitted cluster.Index     `json:"submitted"`         // index of the submission; an update keeps it
		Layouts   map[string]string `json:"layouts,omitempty"` // by task: the pass that has laid out its shares; others are not claimed
		Tasks     []taskText        `json:"tasks"`             // what its partitions do, for people
		Job       []byte            `json:"job"`               // its record
		Write     string            `json:"write"`
	}
	// taskText is a task of the record, as a reader of the document sees it.
	taskText struct {
		Name       string          `json:"name,omitempty"`
		Type       string          `json:"type"`
		Definition json.RawMessage `json:"definition,omitempty"` // of up to maxText bytes
	}
	// partitionDoc is the lock of one partition, with what is to be done.
	partitionDoc struct {
		Holder string        `json:"holder"` // session; "" where nobody has claimed it
		Task   []byte        `json:"task"`   // its record
		State  string        `json:"state"`
		Token  cluster.Token `json:"token"`
		By     cluster.Index `json:"by,omitempty"`     // incarnation of the holder
		Of     cluster.Index `json:"of"`               // submission of the job that it belongs to
		Spec   cluster.Index `json:"spec"`             // index of the spec of the job that it has seen
		Layout string        `json:"layout,omitempty"` // of a share: see jobDoc
		Said   []saidDoc     `json:"said,omitempty"`   // commands that were accepted and have yet to be carried out in other documents
		Write  string        `json:"write"`
	}
	// saidDoc is such a command.
	saidDoc struct {
		Index   cluster.Index `json:"index,omitempty"` // from which the tokens of the items that it lists begin
		Command []byte        `json:"command"`
	}
	// boardDoc is what the leader tells all: hints, none of which decides anything.
	boardDoc struct {
		Term  uint64        `json:"term"`
		Index cluster.Index `json:"index"` // of the Node List
		Specs cluster.Index `json:"specs"` // of the newest update of a job
		View  uint64        `json:"view"`  // number of the newest view
		Free  []boardFree   `json:"free,omitempty"`
		Stop  []boardStop   `json:"stop,omitempty"`
		Write string        `json:"write"`
	}
	boardFree struct {
		Partition cluster.PartitionID `json:"partition"`
		Token     cluster.Token       `json:"token"`
		First     cluster.MemberID    `json:"first,omitempty"`
		Only      bool                `json:"only,omitempty"` // it is for that member alone
		Slot      int64               `json:"slot,omitempty"` // that it takes
		since     protocol.Instant    // when we have seen it first
	}
	boardStop struct {
		Partition cluster.PartitionID `json:"partition"`
		Token     cluster.Token       `json:"token"`
	}
)

// The states of documents.
const (
	outstanding = "outstanding"
	done        = "done"
	gone        = "gone"   // it is not there now; the document keeps its token
	listed      = "listed" // an item that is being made: it is there when its window has been read again, and still lists it
)

// maxText bounds what a document has twice, in the record and as text.
const maxText = 64 << 10

// textsOf are the tasks of a job for people.
func textsOf(j cluster.Job) []taskText {
	texts := make([]taskText, len(j.Spec.Tasks))
	for i, t := range j.Spec.Tasks {
		texts[i] = taskText{Name: t.Name, Type: t.Type}
		if len(t.Definition) <= maxText && json.Valid(t.Definition) {
			texts[i].Definition = t.Definition
		}
	}
	return texts
}

// claimBits is how much of a token counts the claims; the rest is the index of the submission.
const claimBits = 24

// firstToken is the one that a partition has before its first claim.
func firstToken(submitted cluster.Index) cluster.Token { return submitted << claimBits }

// read decodes a document; nothing where there is none.
func read[T any](d store.Doc) (x T, err error) {
	if d.Version != "" {
		err = json.Unmarshal(d.Value, &x)
	}
	return x, damaged(d.Key, err)
}

// written encodes a document to be put over a version of it.
func written(key string, over store.Version, x any) store.Doc {
	b, err := json.Marshal(x)
	if err != nil {
		panic(err) // strings, numbers and bytes
	}
	return store.Doc{Key: key, Value: b, Version: over}
}

// renamed is a document that was read back, as it is to be written over itself under the name of another write: a read
// may show what is never acknowledged, and nobody acts on less than an acknowledgement.
func renamed(d store.Doc, write string) store.Doc {
	var was struct {
		Write string `json:"write"`
	}
	_ = json.Unmarshal(d.Value, &was) // it is one of ours
	d.Value = bytes.Replace(d.Value, named(was.Write), named(write), 1)
	return d
}

// named is how a document names its write: it comes after all that others have chosen.
func named(write string) []byte {
	b, _ := json.Marshal(write) // a string
	return append([]byte(`"write":`), b...)
}

// damagedError says that a document is not one that this protocol writes. Nothing is decided by it, and nothing is
// written over it.
type damagedError struct {
	Key string
	Err error
}

// Error names the document.
func (e *damagedError) Error() string {
	return fmt.Sprintf("document %q is damaged or foreign: %v; try: look at it, and remove it if nobody needs it",
		e.Key, e.Err)
}

// Unwrap gives the cause.
func (e *damagedError) Unwrap() error { return e.Err }

// damaged is an error in what a document says.
func damaged(key string, err error) error {
	var known *damagedError
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &damagedError{Key: key, Err: err}
}

func jobKey(id cluster.JobID) string { return jobPrefix + string(id) }

func partitionKey(p cluster.PartitionID) string {
	name := protocol.Segment(p, "")
	if strings.HasPrefix(name, "@") {
		name = fmt.Sprintf("@%016x%016x", fnv1a(string(p), 0), fnv1a(string(p), 1))
	}
	return partitionPrefix + name
}

// jobOf is the job of a partition's document: the first part of its key, but for those that are named by their digest.
func jobOf(d store.Doc) (cluster.JobID, bool) {
	name := strings.TrimPrefix(d.Key, partitionPrefix)
	if !strings.HasPrefix(name, "@") {
		name, _, _ = strings.Cut(name, "=") // an escaped "/" or "#"
		return cluster.JobID(name), name != ""
	}
	x, ok := decoded(d).says.(*partitionFact)
	if !ok {
		return "", false
	}
	job, _, _ := x.partition.ID.Split()
	return job, true
}

// fnv1a is the hash of that name by Fowler, Noll and Vo, after a byte that makes it another one. A document has the
// whole name: two with one key would be found out, and not mixed up.
func fnv1a(s string, salt byte) uint64 {
	h := (uint64(14695981039346656037) ^ uint64(salt)) * 1099511628211
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

func session(m cluster.Member) string { return strings.TrimPrefix(m.Heartbeat, nodePrefix) }

func nodeKey(session string) string { return nodePrefix + session }

// members decodes the Node List.
func (n nodesDoc) members() (out []cluster.Member, err error) {
	for _, e := range n.Nodes {
		m, err := cluster.DecodeMember(e.Member)
		if err == nil && session(m) != e.Token {
			err = fmt.Errorf("node %q has the record of %q", e.Token, session(m))
		}
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// nodesOf makes the Node List of a value.
func nodesOf(v cluster.Value, index cluster.Index, write string) nodesDoc {
	n := nodesDoc{Index: index, Write: write}
	for m := range v.Members() {
		n.Nodes = append(n.Nodes, nodeEntry{Token: session(m), Workers: cmp.Or(m.Slots, m.Capacity),
			Member: m.Encode()})
	}
	return n
}

// maxLeft bounds how many of those that have left are listed.
const maxLeft = 32

// left are those that were listed, and those that a write of the Node List takes out or holds.
func (n nodesDoc) left(before, after cluster.Value, atMS int64) []leftEntry {
	out := slices.Clone(n.Left)
	for m := range before.Members() {
		if now, ok := after.Member(m.ID); !ok || now.Incarnation != m.Incarnation || now.State == cluster.MemberHeld &&
			m.State != cluster.MemberHeld {
			out = slices.DeleteFunc(out, func(l leftEntry) bool { return l.By == m.Incarnation })
			out = append(out, leftEntry{m.Incarnation, atMS})
		}
	}
	return out[max(0, len(out)-maxLeft):]
}

// leftMS is when a member left in an incarnation; 0 if it is there, or that was long ago.
func (n nodesDoc) leftMS(by cluster.Incarnation) int64 {
	if i := slices.IndexFunc(n.Left, func(l leftEntry) bool { return l.By == by }); i >= 0 {
		return n.Left[i].AtMS
	}
	return 0
}

// decode decodes the record, which it compares with what the document says for people, and the commands that have yet
// to be carried out.
func (d partitionDoc) decode(key string) (p cluster.Partition, said []cluster.Command, err error) {
	p, err = cluster.DecodePartition(d.Task)
	switch {
	case err != nil:
	case partitionKey(p.ID) != key:
		err = fmt.Errorf("it has the record of %q", p.ID)
	case p.Token != d.Token || (d.Holder != "") != (p.Owner != "" && !p.Offered):
		err = fmt.Errorf("holder %q and token %d are not those of its task", d.Holder, d.Token)
	}
	for i := 0; err == nil && i < len(d.Said); i++ {
		var c cluster.Command
		c, err = cluster.DecodeCommand(d.Said[i].Command)
		said = append(said, c)
	}
	return p, said, err
}
