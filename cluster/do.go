package cluster

// Do does one command without the discipline of a log: for a value that is assembled from documents, where at is what the document that decides the
// command gives as its next index or token. It neither counts an entry nor plans; the index of the value stays as it is.
func (v Value) Do(at Index, atMS int64, c Command) (Value, Result) {
	d := &draft{Value: v, at: at, atMS: atMS, unlogged: true, alone: v.claimed()}
	reason := d.apply(c)
	return d.value(), Result{Accepted: reason == "", Reason: reason}
}
