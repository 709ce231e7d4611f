package cluster

// Do applies one command without a log: for a value that is assembled from documents, where at is the next index or token, from the document that decides the
// command. It neither counts an entry nor plans; the index of the value does not change.
func (v Value) Do(at Index, atMS int64, c Command) (Value, Result) {
	d := &draft{Value: v, at: at, atMS: atMS, unlogged: true, alone: v.claimed()}
	reason := d.apply(c)
	return d.value(), Result{Accepted: reason == "", Reason: reason}
}
