package cluster

import (
	"fmt"
	"slices"

	"github.com/rota-run/rota/internal/schedule"
)

// recordMagic begins every record that is kept alone, in a document: magic, format, kind, what a snapshot has of it.
const recordMagic = 0xA8

func encodeRecord[T any](kind byte, code func(*coder, *T), v T) []byte {
	x := &coder{data: []byte{recordMagic, byte(Format), kind}}
	code(x, &v)
	return x.data
}

// decodeRecord reads one. Its error is a *FormatError where it is of another format, else a *CorruptError.
func decodeRecord[T any](kind byte, data []byte, code func(*coder, *T)) (T, error) {
	var v, none T
	switch {
	case len(data) < 3 || data[0] != recordMagic:
		return none, &CorruptError{Reason: "it is not a record"}
	case uint32(data[1]) != Format:
		return none, &FormatError{Format: uint32(data[1])}
	case data[2] != kind:
		return none, &CorruptError{Offset: 2, Reason: fmt.Sprintf("it is a record of kind %d, not %d", data[2], kind)}
	}
	x := &coder{reading: true, data: data, off: 3}
	if code(x, &v); x.end() != nil {
		return none, x.err
	}
	return v, nil
}

// Encode returns the record alone, for [DecodeMember].
func (m Member) Encode() []byte { return encodeRecord(kindMember, codeMember, m) }

// DecodeMember reads the output of Member.Encode. Its error is a *FormatError if it is of another format, else a
// *CorruptError.
func DecodeMember(data []byte) (Member, error) { return decodeRecord(kindMember, data, codeMember) }

// Encode returns the record alone, for [DecodeJob].
func (j Job) Encode() []byte { return encodeRecord(kindJob, codeJob, j) }

// DecodeJob reads the output of Job.Encode. Its errors are those of [DecodeMember].
func DecodeJob(data []byte) (Job, error) { return decodeRecord(kindJob, data, codeJob) }

// Encode returns the record alone, for [DecodePartition].
func (p Partition) Encode() []byte { return encodeRecord(kindPartition, codePartition, p) }

// DecodePartition reads the output of Partition.Encode. Its errors are those of [DecodeMember].
func DecodePartition(data []byte) (Partition, error) {
	return decodeRecord(kindPartition, data, codePartition)
}

// Encode returns the settings alone, for [DecodeSettings].
func (s Settings) Encode() []byte { return encodeRecord(kindSettings, codeSettings, s) }

// DecodeSettings reads the output of Settings.Encode. Its errors are those of [DecodeMember].
func DecodeSettings(data []byte) (Settings, error) {
	return decodeRecord(kindSettings, data, codeSettings)
}

// EncodeCommand returns a command alone, for [DecodeCommand].
func EncodeCommand(c Command) []byte { return encodeRecord(kindCommand, codeCommand, c) }

// DecodeCommand reads the output of EncodeCommand. Its errors are those of [DecodeMember].
func DecodeCommand(data []byte) (Command, error) { return decodeRecord(kindCommand, data, codeCommand) }

func codeLabel(x *coder, l *Label) {
	codeText(x, &l.Key)
	codeText(x, &l.Value)
}

func codeMember(x *coder, m *Member) {
	codeText(x, &m.ID)
	codeUint(x, &m.Incarnation)
	codeEnum(x, &m.State, MemberHeld)
	codeFlags(x, &m.Draining, &m.Revoked)
	codeInt(x, &m.Slots)
	codeInt(x, &m.Weight)
	codeInt(x, &m.Capacity)
	codeList(x, &m.Labels, codeLabel)
	codeText(x, &m.Heartbeat)
	codeText(x, &m.Address)
	codeText(x, &m.Version)
	codeUint(x, &m.Changed)
	codeInt(x, &m.SinceMS)
}

// Flags in the byte of a state, for parts that follow and that most records do not have.
const (
	moreFlag    = 0x80
	stayFlag    = 0x40 // of a task: nothing follows
	pausedFlag  = 0x40 // of a job: its pause
	windowFlag  = 0x40 // of a partition: its part in a window
	shareFlag   = 0x20 // its share of a task that is repartitioned
	offeredFlag = 0x10 // nothing follows: its owner has yet to accept it
	deathsFlag  = 0x08 // deaths of its owners
)

// flagIf is the flag where it is set.
func flagIf(set bool, flag byte) byte {
	if set {
		return flag
	}
	return 0
}

func codeTask(x *coder, t *TaskSpec) {
	codeText(x, &t.Name)
	codeText(x, &t.Type)
	flags := flagIf(t.Repartition, moreFlag) | flagIf(t.Stay, stayFlag)
	if flags = codeState(x, &t.Spread, SpreadPool, flags, moreFlag|stayFlag); x.reading {
		t.Repartition, t.Stay = flags&moreFlag != 0, flags&stayFlag != 0
	}
	codeInt(x, &t.Weight)
	codeEnum(x, &t.Handover, HandoverFast)
	codeList(x, &t.Selector, codeLabel)
	codeText(x, &t.SpreadOver)
	codeText(x, &t.Pin)
	codeInt(x, &t.MaxAttempts)
	codeList(x, &t.Partitions, codeText)
	codeBlob(x, &t.Definition)
	if t.Spread == SpreadPool {
		codeInt(x, &t.Min)
		codeInt(x, &t.Max)
		codeInt(x, &t.Percent)
	}
}

func codeEdge(x *coder, e *Edge) {
	codeText(x, &e.From)
	codeText(x, &e.To)
}

func codeJobSpec(x *coder, s *JobSpec) {
	codeList(x, &s.Tasks, codeTask)
	codeText(x, &s.Source)
	codeText(x, &s.Version)
	codeList(x, &s.Edges, codeEdge)
	if flag := codeState(x, &s.Scheduler, schedule.TasksPercentage, flagIf(s.Batch, moreFlag), moreFlag); x.reading {
		s.Batch = flag != 0
	}
	codeBool(x, &s.Coverage)
	codeInt(x, &s.Percent)
}

func (j *Job) hasMore() bool {
	return j.Turn != Turn{} || len(j.Finished) > 0 || j.Message != ""
}

func codeJob(x *coder, j *Job) {
	codeText(x, &j.ID)
	flags := flagIf(j.hasMore(), moreFlag) | flagIf(j.Paused(), pausedFlag)
	flags = codeState(x, &j.State, JobFailed, flags, moreFlag|pausedFlag)
	if x.reading {
		j.Spec = x.jobSpec()
	} else {
		codeJobSpec(x, j.Spec)
	}
	codeUint(x, &j.SpecIndex)
	codeInt(x, &j.SinceMS)
	if flags&moreFlag != 0 {
		codeUint(x, &j.Turn.Submitted)
		codeInt(x, &j.Turn.Ordinal)
		codeUint(x, &j.Turn.Since)
		codeBool(x, &j.Turn.Passed)
		codeList(x, &j.Finished, codeText)
		codeText(x, &j.Message)
		x.must(j.hasMore(), "a job that adds nothing")
		x.must(slices.IsSorted(j.Finished), "a job whose finished tasks are not sorted")
	}
	if flags&pausedFlag != 0 {
		codeText(x, &j.PausedBy)
		codeInt(x, &j.PausedMS)
		x.must(j.Paused(), "a pause by nobody")
	}
}

func (p *Partition) flags() byte {
	return flagIf(p.Slot != 0, moreFlag) | flagIf(p.inWindow(), windowFlag) | flagIf(p.Count != 0, shareFlag) |
		flagIf(p.Offered, offeredFlag) | flagIf(p.Deaths != 0, deathsFlag)
}

func codePartition(x *coder, p *Partition) {
	codeText(x, &p.ID)
	flags := codeState(x, &p.State, PartitionBlocked, p.flags(), moreFlag|windowFlag|shareFlag|offeredFlag|deathsFlag)
	if x.reading {
		p.Offered = flags&offeredFlag != 0
	}
	codeText(x, &p.Owner)
	codeUint(x, &p.Token)
	codeText(x, &p.Next)
	codeUint(x, &p.NextToken)
	codeText(x, &p.From)
	codeText(x, &p.Cause)
	codeInt(x, &p.Attempts)
	codeText(x, &p.Message)
	codeList(x, &p.Parents, codeText)
	codeBool(x, &p.Dropped)
	codeInt(x, &p.ChangedMS)
	if flags&moreFlag != 0 {
		codeInt(x, &p.Slot)
		x.must(p.Slot != 0, "a slot without a number")
	}
	if flags&shareFlag != 0 {
		codeInt(x, &p.Index)
		codeInt(x, &p.Count)
		x.must(p.Count != 0, "a share of nothing")
	}
	if flags&windowFlag != 0 {
		codeText(x, &p.ListedBy)
		codeBlob(x, &p.Input)
		codeInt(x, &p.Step)
		codeBlob(x, &p.Cursor)
		x.must(p.inWindow(), "a part in a window that says nothing")
	}
	if flags&deathsFlag != 0 {
		codeInt(x, &p.Deaths)
		x.must(p.Deaths > 0, "deaths that are none")
	}
}

func codeWriter(x *coder, id *WriterID, w *writerRecord) {
	codeText(x, id)
	codeUint(x, &w.seq)
	codeUint(x, &w.seen)
}
