package lease

import (
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/store"
)

// attempt is one command on its way, of a member or of a client: read the documents, decide, write the deciding one,
// and again until that is certain. It is a value.
type attempt struct {
	command cluster.Command
	also    []string // documents that are read with those that it needs, for it will ask for them
	docs    []store.Doc
	ask     []string // documents that are to be read; nil where the write is under way, or nothing was read yet
	index   cluster.Index
	taking  cluster.Index // the write takes this index
	again   bool          // the write is one before the deciding one
	proved  string        // document of the last such write that was acknowledged, or of a fence before
	put     store.Doc     // the write that is under way or of unknown outcome; no key where there is none
	lost    bool          // its outcome is unknown
	over    bool          // it has ended
	result  cluster.Result
	err     error // a document that it needs is damaged
}

// begin asks for all that it needs, unless more is being read already.
func (a attempt) begin() attempt {
	if a.ask == nil {
		a.ask, a.docs = append(needs(a.command), a.also...), nil
	}
	return a
}

// read takes in documents, before they are learned.
func (a attempt) read(docs []store.Doc) attempt {
	a.docs, a.ask = append(slices.Clip(a.docs), docs...), nil
	return a
}

// decide does the command on what was read, or sees that the write of unknown outcome was stored: that is written once
// more, under another name. Then it asks for more, is over, or is to write.
func (a attempt) decide(f *facts, w writer) attempt {
	if a.lost && a.stored() {
		a.put, a.lost = renamed(a.put, w.write), false
		return a
	}
	w.proved, w.index = a.proved, a.index
	v := decide(a.command, f, w)
	switch {
	case v.err != nil:
		a.err, a.result, a.over = v.err, cluster.Result{Reason: v.err.Error()}, true
	case v.more != nil:
		a.ask = v.more
	case v.put.Key == "":
		a.result, a.put, a.over = v.result, store.Doc{}, true
	default:
		a.put, a.taking, a.again, a.result, a.lost = v.put, v.index, v.again, v.result, false
	}
	return a
}

// stored tells whether the document that was read is the one that we wrote. Else the write may still come: it is
// conditional, and what is decided next makes it void, or sees it.
func (a *attempt) stored() bool {
	i := slices.IndexFunc(a.docs,
		func(d store.Doc) bool { return d.Key == a.put.Key && string(d.Value) == string(a.put.Value) })
	if i >= 0 {
		a.put.Version = a.docs[i].Version
	}
	return i >= 0
}

// wrote takes in how the write ended.
func (a attempt) wrote(o outbox.Outcome, v store.Version) attempt {
	a.ask, a.docs = nil, nil
	switch o {
	case outbox.Done:
		a.put.Version = v
		return a.acknowledged()
	case outbox.Unknown:
		a.lost = true
	}
	return a
}

// acknowledged goes on after a write that was stored.
func (a attempt) acknowledged() attempt {
	a.lost = false
	switch {
	case a.taking != 0:
		a.index, a.taking = a.taking, 0
	case a.again:
		a.proved = a.put.Key
	default:
		a.over = true
	}
	return a
}
