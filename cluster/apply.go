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
	switch c := c.(type) {
	case PrepareJoin:
		return d.prepareJoin(c)
	case AcceptJoin:
		return d.acceptJoin(c)
	case AbortJoin:
		return d.abortJoin(c)
	case LeaveCluster:
		return d.leaveCluster(c)
	case ReleaseHold:
		return d.releaseHold(c)
	case ConfirmMember:
		return d.confirmMember(c)
	case DrainMember:
		return d.drainMember(c)
	case Started:
		return d.started(c)
	case Stopped:
		return d.stopped(c)
	case FinishPartition:
		return d.finishPartition(c)
	case SplitPartition:
		return d.splitPartition(c)
	case AdvanceWindow:
		return d.advanceWindow(c)
	case UnparkPartition:
		return d.unparkPartition(c)
	case Configure:
		return d.configure(c)
	}
	return d.applyToJob(c)
}

// applyToJob does the commands about a job as a whole.
func (d *draft) applyToJob(c Command) string {
	switch c := c.(type) {
	case SubmitJob:
		return d.submitJob(c)
	case UpdateJob:
		return d.updateJob(c)
	case KillJob:
		return d.killJob(c)
	case PauseJob:
		return d.pauseJob(c)
	case ResumeJob:
		return d.resumeJob(c)
	}
	return d.applyPlacement(c)
}

// applyPlacement does the commands of protocols with another placement than the plan's.
func (d *draft) applyPlacement(c Command) string {
	switch c := c.(type) {
	case Lead:
		return d.lead(c)
	case AcceptOffer:
		return d.acceptOffer(c)
	case RevokeOffer:
		return d.revokeOffer(c)
	case TakeRequest:
		return d.takeRequest(c)
	case Place:
		return d.place(c)
	case Claim:
		return d.claim(c)
	case Epoch:
		return d.announce(c)
	case Share:
		return d.share(c)
	case Own:
		return d.tell(c)
	}
	return "an unknown command"
}

func (d *draft) noteWriter(id WriterID, seq uint64) {
	old, _ := d.writers.Get(id)
	rec := writerRecord{seq: seq, seen: d.applied}
	d.buf = appendWriter(d.buf[:0], id, rec)
	rec.hash = hashBytes(kindWriter, &d.buf)
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

func (d *draft) configure(c Configure) string {
	if why := d.schedulerRefused(c.JobScheduler); why != "" {
		return why
	}
	d.digest -= d.settingsHash()
	if c.MoveBudget != 0 {
		d.settings.MoveBudget = c.MoveBudget
	}
	if c.JobScheduler != "" {
		d.setScheduler(c.JobScheduler)
	}
	if c.Retention != 0 {
		d.settings.Retention = c.Retention
		d.forgetJobs()
	}
	d.digest += d.settingsHash()
	d.replan = true
	return ""
}

// settingsHash is zero for a cluster where nothing was configured, so that the empty value has digest zero.
func (d *draft) settingsHash() Hash {
	if d.settings == (Settings{}) {
		return 0
	}
	d.buf = appendSettings(d.buf[:0], d.settings)
	return hashBytes(kindSettings, &d.buf)
}
