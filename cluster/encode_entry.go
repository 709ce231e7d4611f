package cluster

// entryMagic begins every entry. The format follows it, so that what another Rota wrote is told from garbage.
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
	tagAdvanceWindow
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

// The tags of pauses.
const (
	tagPauseJob  byte = 64
	tagResumeJob byte = 65
)

// Encode returns the entry as stored in the log: all fields except its index.
func (e Entry) Encode() []byte { return AppendEntry(nil, e) }

// AppendEntry appends the entry's encoding to b.
func AppendEntry(b []byte, e Entry) []byte {
	b = append(b, entryMagic)
	b = appendUvarint(b, Format)
	b = appendString(b, e.Writer)
	b = appendUvarint(b, e.Seq)
	b = appendVarint(b, e.AtMS)
	b = appendUvarint(b, uint64(e.BaseIndex))
	b = appendUvarint(b, uint64(e.BaseChain))
	return appendList(b, e.Commands, appendCommand)
}

// DecodeEntry reads the entry that the log has at index. Its error is a *FormatError if it is of another format, else a *CorruptError.
// The entry retains data.
func DecodeEntry(index Index, data []byte) (Entry, error) {
	r := &decoder{index: index, data: data}
	if r.byte() != entryMagic {
		r.fail("it does not begin as an entry")
	}
	r.format()
	e := Entry{Index: index, Writer: WriterID(r.string()), data: data}
	e.Seq = r.uvarint()
	e.AtMS = r.varint()
	e.BaseIndex, e.BaseChain = Index(r.uvarint()), Hash(r.uvarint())
	e.Commands = decodeList(r, decodeCommand)
	if r.err == nil && r.off != len(data) {
		r.fail("bytes behind its end")
	}
	if r.err != nil {
		return Entry{}, r.err
	}
	return e, nil
}

// format reads the format, which must be ours.
func (r *decoder) format() {
	f := r.uvarint()
	switch {
	case r.err != nil || f == uint64(Format):
	case f == 0:
		r.fail("format zero")
	default:
		r.err = &FormatError{Index: r.index, Format: uint32(min(f, 1<<32-1))}
	}
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
		return appendSubmit(append(b, tagSubmitJob), &c)
	case UpdateJob:
		return appendSubmit(append(b, tagUpdateJob), (*SubmitJob)(&c))
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
		b = appendVarint(appendVarint(append(b, tagConfigure), c.MoveBudget), c.Retention)
		return appendString(b, c.JobScheduler)
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
	return appendBool(appendString(appendString(appendString(b, c.Heartbeat), c.Address), c.Version), c.Again)
}

func (r *decoder) prepareJoin() PrepareJoin {
	return PrepareJoin{
		Member: MemberID(r.string()), Replaces: Index(r.uvarint()), Slots: r.varint(), Weight: r.varint(), Capacity: r.varint(),
		Labels: decodeList(r, decodeLabel), Heartbeat: r.string(), Address: r.string(), Version: r.string(), Again: r.bool(),
	}
}

func appendSubmit(b []byte, c *SubmitJob) []byte {
	b = appendJobSpec(appendString(b, c.Job), c.Spec)
	return appendUvarint(appendUvarint(appendString(b, c.By), uint64(c.ByToken)), uint64(c.Expected))
}

func (r *decoder) submit() SubmitJob {
	return SubmitJob{Job: JobID(r.string()), Spec: decodeJobSpec(r), By: r.partition(), ByToken: r.token(), Expected: Expected(r.uvarint())}
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
		return r.submit()
	case tagUpdateJob:
		return UpdateJob(r.submit())
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
		return Configure{MoveBudget: r.varint(), Retention: r.varint(), JobScheduler: r.string()}
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
	case tagPauseJob:
		return PauseJob{Job: JobID(r.string()), By: r.string()}
	case tagResumeJob:
		return ResumeJob{Job: JobID(r.string())}
	}
	return r.epochCommand()
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

// The flags of a leave.
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
	b := r.enum(leaveHold | leaveDied)
	c.Hold, c.Died = b&leaveHold != 0, b&leaveDied != 0
	return c
}
