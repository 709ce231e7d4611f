package cluster

// Applied is the outcome of one entry.
type Applied struct {
	Results   []Result // one per command
	Foreign   string   // why no member with this history can have written it: it did nothing; "" where one can
	Planned   bool     // placement was computed: then the entry costs time that grows with the number of partitions
	Duplicate bool     // an entry of its writer with this or a higher sequence number was applied before: it did nothing
}

// maxWriters bounds the table that removes duplicates. When it is full the quarter that was silent for longest is forgotten;
// a duplicate that comes later still meets commands that name what they expect.
const maxWriters = 4096

// Apply folds one entry into the value. It is total: an unknown, stale, malformed or impossible command is a no-op whose
// result gives the reason. The receiver stays valid. An entry whose index is not after the last applied one changes nothing at all.
func (v Value) Apply(e Entry) (Value, Applied) {
	if e.Index <= v.index {
		return v, refuseAll(e, "its index was applied before", false)
	}
	d := v.draft(&e)
	d.index, d.chain = e.Index, chain(v.chain, e.Index, e.bytes())
	d.applied++
	d.passed()
	if why := v.foreign(&e); why != "" { // its writer does not count either
		out := refuseAll(e, why, false)
		out.Foreign = why
		return d.value(), out
	}
	if why := v.notLed(&e); why != "" {
		return d.value(), refuseAll(e, why, false)
	}
	if w, ok := d.writers.Get(e.Writer); ok && e.Seq <= w.seq {
		return d.value(), refuseAll(e, "its writer's number was applied before", true)
	}
	d.noteWriter(e.Writer, e.Seq)
	out := Applied{Results: make([]Result, len(e.Commands))}
	for i, c := range e.Commands {
		reason := d.applyInTurn(i, c)
		out.Results[i] = Result{Accepted: reason == "", Reason: reason}
	}
	out.Planned = d.replan
	d.plan()
	return d.value(), out
}

func refuseAll(e Entry, why string, duplicate bool) Applied {
	out := Applied{Results: make([]Result, len(e.Commands)), Duplicate: duplicate}
	for i := range out.Results {
		out.Results[i].Reason = why
	}
	return out
}

// applyInTurn does command number i. It passes over the commands of a request that was taken before.
func (d *draft) applyInTurn(i int, c Command) string {
	if _, ok := c.(TakeRequest); !ok && d.taken > 0 {
		d.taken--
		return RequestTaken
	}
	if _, ok := c.(Lead); ok && i > 0 {
		return "a term begins with the first command of an entry"
	}
	return d.apply(c)
}

// apply does one command and returns why it did nothing, "" if it did. A refused command changes nothing.
func (d *draft) apply(c Command) string {
	if c == nil {
		return "no command"
	}
	if err := CheckCommand(c); err != nil {
		return err.Error()
	}
	return c.apply(d)
}

func (d *draft) noteWriter(id WriterID, seq uint64) {
	old, _ := d.writers.Get(id)
	rec := writerRecord{seq: seq, seen: d.applied}
	codeWriter(d.encode(), &id, &rec)
	rec.hash = d.hash(kindWriter)
	d.digest += rec.hash - old.hash
	d.writers.Set(id, rec)
	if d.writers.Len() > maxWriters {
		d.forgetWriters()
	}
}

func (d *draft) forgetWriters() {
	oldest := d.applied - maxWriters*3/4
	var drop []WriterID
	d.writers.Each(func(id WriterID, w writerRecord) bool {
		if w.seen <= oldest {
			drop = append(drop, id)
			d.digest -= w.hash
		}
		return true
	})
	for _, id := range drop {
		d.writers.Remove(id)
	}
}
