package simulate

import (
	"fmt"
	"slices"

	"github.com/rota-run/rota/cluster"
)

// World is a cluster that a script moves, one command after another.
type World struct {
	v       cluster.Value
	seq     uint64
	dead    map[cluster.MemberID]bool // crashed: they do nothing, and their heartbeat is gone
	paused  bool                      // members do nothing until they are told to
	stride  cluster.Index             // from one entry to the next
	batch   *[]cluster.Command        // of an entry that is being put together; else nil
	written []Written                 // by the present command
	said    string                    // by the present command, besides what was written
	log     []indexed                 // what a reader reads
	trimmed cluster.Index             // the newest entry that the log has no more
	kept    map[string]indexed        // by their names
}

// Written is one command of an entry, and what it did.
type Written struct {
	Index   cluster.Index `json:"index"`        // of the entry
	By      string        `json:"by,omitempty"` // a member; "" for the script
	Command string        `json:"command"`
	Reason  string        `json:"refused,omitempty"` // why it did nothing; "" if it was accepted
}

// New returns a cluster without members, for a golden script or for any other.
func New(golden bool) *World {
	w := &World{dead: make(map[cluster.MemberID]bool), stride: 1, paused: golden}
	if golden {
		w.stride = 10
	}
	return w
}

// write appends an entry and applies it.
func (w *World) write(by string, commands ...cluster.Command) {
	if w.batch != nil {
		*w.batch = append(*w.batch, commands...)
		return
	}
	w.seq++
	e := cluster.Entry{Index: w.v.Index() + w.stride, Writer: "script", Seq: w.seq, Commands: commands}
	w.log = append(w.log, indexed{e.Index, e.Encode()})
	v, did := w.v.Apply(e)
	w.v = v
	for i, r := range did.Results {
		w.written = append(w.written, Written{Index: e.Index, By: by, Command: fmt.Sprint(commands[i]),
			Reason: r.Reason})
	}
}

// settleLimit bounds the rounds of a settling; each makes progress that cannot go on for ever.
const settleLimit = 10_000

// settle lets the live members act until none of them has anything to do.
func (w *World) settle() {
	for range settleLimit {
		if !w.step() {
			return
		}
	}
}

// sweep reports every member whose heartbeat is gone.
func (w *World) sweep() {
	for m := range w.v.Members() {
		if w.dead[m.ID] && m.State != cluster.MemberHeld {
			w.write("", gone(m))
		}
	}
}

// gone is what is written about a member whose heartbeat is gone.
func gone(m cluster.Member) cluster.Command {
	if m.State == cluster.MemberPrepared {
		return cluster.AbortJoin{Member: m.ID, Incarnation: m.Incarnation}
	}
	return cluster.LeaveCluster{Member: m.ID, Incarnation: m.Incarnation, Reason: "its heartbeat is gone"}
}

// step lets each live member, or each of some, write once what the value, as it stood before, asks of it.
func (w *World) step(only ...string) (wrote bool) {
	v := w.v
	for m := range v.Members() {
		if w.dead[m.ID] || m.State == cluster.MemberHeld || len(only) > 0 && !slices.Contains(only, string(m.ID)) {
			continue
		}
		for _, c := range w.todo(v, m.ID) {
			w.write(string(m.ID), c)
			wrote = true
		}
	}
	return wrote
}

// todo is what a member would write.
func (w *World) todo(v cluster.Value, id cluster.MemberID) (out []cluster.Command) {
	r := v.Reactions(id)
	switch m := r.Watch; {
	case m.ID == "":
	case w.dead[m.ID]:
		out = append(out, gone(m))
	case r.Accept:
		out = append(out, cluster.AcceptJoin{Member: m.ID, Incarnation: m.Incarnation, By: id,
			ByIncarnation: r.Incarnation})
	}
	for _, d := range v.Duties(id) {
		switch d.Role {
		case cluster.RoleStop:
			out = append(out, cluster.Stopped{Partition: d.Partition.ID, Token: d.Token})
		case cluster.RoleAdopt:
			out = append(out, cluster.Started{Partition: d.Partition.ID, Token: d.Token})
		}
	}
	return out
}

// indexed is an entry as the log has it, or the value as it was at an entry.
type indexed struct {
	index cluster.Index
	data  []byte
}

// reader plays what keeps the log short: snapshots, the log without what they cover, and members that come late and
// read what is there.
func (w *World) reader(l *Line) error {
	if l.Name == "read" && len(l.words) == 0 {
		w.read(l, cluster.Value{}, "a reader of the whole log")
		return nil
	}
	name, err := l.one("the snapshot")
	if err != nil {
		return err
	}
	if l.Name == "snapshot" {
		if w.kept == nil {
			w.kept = make(map[string]indexed)
		}
		w.kept[name] = indexed{w.v.Index(), w.v.Snapshot()}
		w.said = fmt.Sprintf("%s is the value as of entry %d", name, w.v.Index())
		return nil
	}
	s, ok := w.kept[name]
	if !ok {
		return l.fault("there is no snapshot %q: snapshot %s", name, name)
	}
	if l.Name == "trim" {
		w.trim(name, s.index)
		return nil
	}
	v, err := cluster.DecodeSnapshot(s.data)
	if err != nil {
		return l.fault("read the snapshot %s: %v", name, err)
	}
	w.read(l, v, fmt.Sprintf("a reader that begins with %s, entry %d,", name, s.index))
	return nil
}

// trim removes what a snapshot covers.
func (w *World) trim(name string, upTo cluster.Index) {
	n := 0
	for n < len(w.log) && w.log[n].index <= upTo {
		n++
	}
	w.log, w.trimmed = w.log[n:], max(w.trimmed, upTo)
	w.said = fmt.Sprintf("%s covers %s of the log, which are gone", name, entries(n))
}

// read folds what a late reader finds, from a value on, and compares its value with that of the others.
func (w *World) read(l *Line, v cluster.Value, from string) {
	refuse := func(format string, args ...any) {
		w.written = append(w.written, Written{Command: l.Text, Reason: fmt.Sprintf(format, args...)})
	}
	if v.Index() < w.trimmed {
		refuse("the log begins after entry %d: read a newer snapshot", w.trimmed)
		return
	}
	n := 0
	for _, x := range w.log {
		if x.index <= v.Index() {
			continue
		}
		e, err := cluster.DecodeEntry(x.index, x.data)
		if err != nil {
			refuse("entry %d: %v", x.index, err)
			return
		}
		v, _ = v.Apply(e)
		n++
	}
	if v.Index() != w.v.Index() || v.Chain() != w.v.Chain() || v.Digest() != w.v.Digest() ||
		v.String() != w.v.String() {
		refuse("%s has another value after %s: %d", from, entries(n), v.Index())
		return
	}
	w.said = fmt.Sprintf("%s reads %s, and has the value that all have, of entry %d", from, entries(n), v.Index())
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}
