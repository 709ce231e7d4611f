package cluster

// entryMagic begins every entry; the format version follows it, so that an older Rota can tell a newer entry from garbage.
const entryMagic = 0xE7

// The tags of commands in an entry. A tag never changes its meaning.
const (
	tagPrepareJoin byte = iota + 1
	tagAcceptJoin
	tagAbortJoin
	tagLeaveCluster
	tagReleaseHold
	tagDrainMember
	tagSubmitJob
	tagUpdateJob
	tagKillJob
	tagStarted
	tagStopped
	tagFinishPartition
	tagSplitPartition
	tagUnparkPartition
	tagConfigure
	tagConfirmMember
	tagSubmitWorkflow // as tagSubmitJob, with what the spec says of the workflow
	tagUpdateWorkflow
	tagConfigureMore // as tagConfigure, with the job scheduler
	tagAdvanceWindow
	tagExpected // an expectation, and the command about a job that it is of
)

// The tags of the protocol leader, and of placements.
const (
	tagLead byte = iota + 40
	tagAcceptOffer
	tagRevokeOffer
	tagTakeRequest
	tagPlace
)

// The tag of the protocol lease.
const tagClaim byte = 48

// The tags of pauses, since format 3.
const (
	tagPauseJob  byte = 64
	tagResumeJob byte = 65
)

// Encode returns the entry as stored in the log: all fields except its index.
func (e Entry) Encode() []byte { return AppendEntry(nil, e) }

// AppendEntry appends the entry's encoding to b.
func AppendEntry(b []byte, e Entry) []byte {
	b = append(b, entryMagic)
	b = appendUvarint(b, e.Format)
	b = appendString(b, e.Writer)
	b = appendUvarint(b, e.Seq)
	b = appendVarint(b, e.AtMS)
	b = appendUvarint(b, uint64(e.BaseIndex))
	b = appendUvarint(b, uint64(e.BaseChain))
	return appendList(b, e.Commands, appendCommand)
}

// DecodeEntry reads the entry that the log has at index. Its error is a *FormatError if the format is newer than this Rota, else a *CorruptError.
// The entry retains data.
func DecodeEntry(index Index, data []byte) (Entry, error) {
	r := &decoder{index: index, data: data}
	if r.byte() != entryMagic {
		r.fail("it does not begin as an entry")
	}
	e := Entry{Index: index, Format: r.format(), data: data}
	e.Writer = WriterID(r.string())
	e.Seq = r.uvarint()
	e.AtMS = r.varint()
	e.BaseIndex, e.BaseChain = Index(r.uvarint()), Hash(r.uvarint())
	r.deaths, r.pauses = e.Format >= formatDeaths, e.Format >= formatPause
	e.Commands = decodeList(r, decodeCommand)
	if r.err == nil && r.off != len(data) {
		r.fail("bytes behind its end")
	}
	if r.err != nil {
		return Entry{}, r.err
	}
	return e, nil
}

func (r *decoder) format() uint32 {
	f := r.uvarint()
	if r.err == nil && f == 0 {
		r.fail("format zero")
	}
	if r.err == nil && f > uint64(NewestFormat) {
		r.err = &FormatError{Index: r.index, Format: uint32(min(f, 1<<32-1))}
	}
	return uint32(f)
}

func appendJoinRef(b []byte, tag byte, m MemberID, inc Incarnation) []byte {
	return appendUvarint(appendString(append(b, tag), m), uint64(inc))
}

func appendPartitionRef(b []byte, tag byte, p PartitionID, t Token) []byte {
	return appendUvarint(appendString(append(b, tag), p), uint64(t))
}

func appendCommand(b []byte, c Command) []byte {
	switch c := c.(type) {
	case PrepareJoin:
		return appendPrepareJoin(append(b, tagPrepareJoin), c)
	case AcceptJoin:
		b = appendJoinRef(b, tagAcceptJoin, c.Member, c.Incarnation)
		return appendUvarint(appendString(b, c.By), uint64(c.ByIncarnation))
	case AbortJoin:
		return appendJoinRef(b, tagAbortJoin, c.Member, c.Incarnation)
	case LeaveCluster:
		return append(appendString(appendJoinRef(b, tagLeaveCluster, c.Member, c.Incarnation), c.Reason), c.flags())
	case ReleaseHold:
		return appendJoinRef(b, tagReleaseHold, c.Member, c.Incarnation)
	case ConfirmMember:
		return appendString(appendJoinRef(b, tagConfirmMember, c.Member, c.Incarnation), c.Heartbeat)
	case DrainMember:
		return appendBool(appendString(append(b, tagDrainMember), c.Member), c.On)
	case SubmitJob:
		return appendJobCommand(appendExpected(b, c.Expected), [...]byte{tagSubmitJob, tagSubmitWorkflow}, c.Job, &c.Spec, c.By, c.ByToken)
	case UpdateJob:
		return appendJobCommand(appendExpected(b, c.Expected), [...]byte{tagUpdateJob, tagUpdateWorkflow}, c.Job, &c.Spec, c.By, c.ByToken)
	case KillJob:
		return appendUvarint(appendString(appendString(append(b, tagKillJob), c.Job), c.By), uint64(c.ByToken))
	case Started:
		return appendPartitionRef(b, tagStarted, c.Partition, c.Token)
	case Stopped:
		return appendPartitionRef(b, tagStopped, c.Partition, c.Token)
	case FinishPartition:
		b = append(appendPartitionRef(b, tagFinishPartition, c.Partition, c.Token), byte(c.Outcome))
		return appendString(appendBool(appendVarint(b, c.Attempt), c.Fresh), c.Message)
	case SplitPartition:
		return appendList(appendPartitionRef(b, tagSplitPartition, c.Partition, c.Token), c.Children, appendChild)
	case AdvanceWindow:
		return appendAdvance(b, &c)
	case UnparkPartition:
		return appendString(append(b, tagUnparkPartition), c.Partition)
	case Configure:
		return appendConfigure(b, &c)
	}
	return appendPlacementCommand(b, c)
}

func appendPlacementCommand(b []byte, c Command) []byte {
	switch c := c.(type) {
	case Lead:
		return appendVarint(appendUvarint(appendString(append(b, tagLead), c.Member), c.Term), c.OfferMS)
	case AcceptOffer:
		return appendPartitionRef(b, tagAcceptOffer, c.Partition, c.Token)
	case RevokeOffer:
		return appendBool(appendPartitionRef(b, tagRevokeOffer, c.Partition, c.Token), c.Declined)
	case TakeRequest:
		return appendUvarint(appendUvarint(appendString(append(b, tagTakeRequest), c.Writer), c.Seq), c.Count)
	case Claim:
		return appendUvarint(appendString(appendPartitionRef(b, tagClaim, c.Partition, c.Token), c.Member), uint64(c.Incarnation))
	case Place:
		return append(b, tagPlace, byte(c.Placement))
	case PauseJob:
		return appendString(appendString(append(b, tagPauseJob), c.Job), c.By)
	case ResumeJob:
		return appendString(append(b, tagResumeJob), c.Job)
	}
	return appendEpochCommand(b, c)
}

func appendPrepareJoin(b []byte, c PrepareJoin) []byte {
	b = appendUvarint(appendString(b, c.Member), uint64(c.Replaces))
	b = appendVarint(appendVarint(appendVarint(b, c.Slots), c.Weight), c.Capacity)
	b = appendList(b, c.Labels, appendLabel)
	return appendString(appendString(appendString(b, c.Heartbeat), c.Address), c.Version)
}

func (r *decoder) prepareJoin() PrepareJoin {
	return PrepareJoin{
		Member: MemberID(r.string()), Replaces: Index(r.uvarint()), Slots: r.varint(), Weight: r.varint(), Capacity: r.varint(),
		Labels: decodeList(r, decodeLabel), Heartbeat: r.string(), Address: r.string(), Version: r.string(),
	}
}

// appendJobCommand has two tags: the second is for a spec that says something of the workflow.
func appendJobCommand(b []byte, tags [2]byte, id JobID, spec *JobSpec, by PartitionID, token Token) []byte {
	if spec.isZero() {
		b = appendJobSpec(appendString(append(b, tags[0]), id), *spec)
	} else {
		b = appendSpec(appendString(append(b, tags[1]), id), spec)
	}
	return appendUvarint(appendString(b, by), uint64(token))
}

func appendExpected(b []byte, e Expected) []byte {
	if e == 0 {
		return b
	}
	return appendUvarint(append(b, tagExpected), uint64(e))
}

// expected decodes a command with an expectation.
func (r *decoder) expected() Command {
	e := Expected(r.uvarint())
	if r.err == nil && e == 0 {
		r.fail("an expectation that says nothing")
	}
	switch tag := r.byte(); tag {
	case tagSubmitJob, tagSubmitWorkflow:
		c := r.submit(tag == tagSubmitWorkflow)
		c.Expected = e
		return c
	case tagUpdateJob, tagUpdateWorkflow:
		c := UpdateJob(r.submit(tag == tagUpdateWorkflow))
		c.Expected = e
		return c
	}
	r.fail("an expectation of no job")
	return nil
}

func (r *decoder) submit(workflow bool) SubmitJob {
	c := SubmitJob{Job: JobID(r.string())}
	if workflow {
		c.Spec = decodeSpecWithWorkflow(r)
	} else {
		c.Spec = decodeJobSpec(r)
	}
	c.By, c.ByToken = r.partition(), r.token()
	return c
}

func appendConfigure(b []byte, c *Configure) []byte {
	tag := tagConfigure
	if c.JobScheduler != "" {
		tag = tagConfigureMore
	}
	b = appendVarint(appendUvarint(appendVarint(append(b, tag), c.MoveBudget), c.Format), c.Retention)
	if c.JobScheduler != "" {
		b = appendString(b, c.JobScheduler)
	}
	return b
}

func (r *decoder) configure(more bool) Command {
	c := Configure{MoveBudget: r.varint(), Format: r.uint32(), Retention: r.varint()}
	if more {
		if c.JobScheduler = r.string(); c.JobScheduler == "" {
			r.fail("a job scheduler without a name")
		}
	}
	return c
}

func decodeCommand(r *decoder) Command {
	switch r.byte() {
	case tagPrepareJoin:
		return r.prepareJoin()
	case tagAcceptJoin:
		return AcceptJoin{Member: r.member(), Incarnation: r.token(), By: r.member(), ByIncarnation: r.token()}
	case tagAbortJoin:
		return AbortJoin{Member: r.member(), Incarnation: r.token()}
	case tagLeaveCluster:
		return r.leave()
	case tagReleaseHold:
		return ReleaseHold{Member: r.member(), Incarnation: r.token()}
	case tagConfirmMember:
		return ConfirmMember{Member: r.member(), Incarnation: r.token(), Heartbeat: r.string()}
	case tagDrainMember:
		return DrainMember{Member: r.member(), On: r.bool()}
	case tagSubmitJob:
		return r.submit(false)
	case tagUpdateJob:
		return UpdateJob(r.submit(false))
	case tagSubmitWorkflow:
		return r.submit(true)
	case tagUpdateWorkflow:
		return UpdateJob(r.submit(true))
	case tagExpected:
		return r.expected()
	case tagKillJob:
		return KillJob{Job: JobID(r.string()), By: r.partition(), ByToken: r.token()}
	}
	return r.partitionCommand()
}

// partitionCommand decodes the commands of owners and operators; the tag was just read.
func (r *decoder) partitionCommand() Command {
	if r.err != nil {
		return nil
	}
	switch r.data[r.off-1] {
	case tagStarted:
		return Started{Partition: r.partition(), Token: r.token()}
	case tagStopped:
		return Stopped{Partition: r.partition(), Token: r.token()}
	case tagFinishPartition:
		return FinishPartition{
			Partition: r.partition(), Token: r.token(), Outcome: Outcome(r.enum(byte(OutcomeFailed))),
			Attempt: r.varint(), Fresh: r.bool(), Message: r.string(),
		}
	case tagSplitPartition:
		return SplitPartition{Partition: r.partition(), Token: r.token(), Children: decodeList(r, decodeChild)}
	case tagUnparkPartition:
		return UnparkPartition{Partition: r.partition()}
	case tagConfigure:
		return r.configure(false)
	case tagConfigureMore:
		return r.configure(true)
	case tagAdvanceWindow:
		return r.advance()
	}
	return r.placementCommand()
}

// placementCommand decodes the commands of protocols with another placement than the plan's; the tag was just read.
func (r *decoder) placementCommand() Command {
	switch r.data[r.off-1] {
	case tagLead:
		return Lead{Member: r.member(), Term: r.uvarint(), OfferMS: r.varint()}
	case tagAcceptOffer:
		return AcceptOffer{Partition: r.partition(), Token: r.token()}
	case tagRevokeOffer:
		return RevokeOffer{Partition: r.partition(), Token: r.token(), Declined: r.bool()}
	case tagTakeRequest:
		return TakeRequest{Writer: WriterID(r.string()), Seq: r.uvarint(), Count: r.uint32()}
	case tagClaim:
		return Claim{Partition: r.partition(), Token: r.token(), Member: r.member(), Incarnation: r.token()}
	case tagPlace:
		return Place{Placement: Placement(r.enum(byte(PlacementShared)))}
	case tagPauseJob, tagResumeJob:
		return r.pause(r.data[r.off-1])
	}
	return r.epochCommand()
}

func (r *decoder) pause(tag byte) Command {
	if !r.pauses { // a Rota that knows older formats alone refuses it too
		r.fail("an unknown command")
		return nil
	}
	if tag == tagPauseJob {
		return PauseJob{Job: JobID(r.string()), By: r.string()}
	}
	return ResumeJob{Job: JobID(r.string())}
}

func (r *decoder) member() MemberID       { return MemberID(r.string()) }
func (r *decoder) partition() PartitionID { return PartitionID(r.string()) }
func (r *decoder) token() Token           { return Token(r.uvarint()) }

func (r *decoder) uint32() uint32 {
	u := r.uvarint()
	if u > 1<<32-1 {
		r.fail("a number above 32 bits")
		return 0
	}
	return uint32(u)
}

// The flags of a leave. Format 1 has a boolean in their place.
const (
	leaveHold = 1
	leaveDied = 2
)

func (c LeaveCluster) flags() (b byte) {
	if c.Hold {
		b = leaveHold
	}
	if c.Died {
		b |= leaveDied
	}
	return b
}

func (r *decoder) leave() Command {
	c := LeaveCluster{Member: r.member(), Incarnation: r.token(), Reason: r.string()}
	b := r.byte()
	if b > leaveHold|leaveDied || b&leaveDied != 0 && !r.deaths { // a Rota that knows format 1 alone refuses it too
		r.fail("an unknown kind of leave")
	}
	c.Hold, c.Died = b&leaveHold != 0, b&leaveDied != 0
	return c
}
