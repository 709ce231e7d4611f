package simulate

import (
	"fmt"

	"github.com/rota-run/rota/cluster"
)

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
