package cluster

import (
	"slices"

	"github.com/rota-run/rota/schedule"
)

// moreFlag is set in the byte of a state where a part follows that most records do not have.
const moreFlag = 0x80

// pausedFlag is set in the byte of a job's state where a pause follows.
const pausedFlag = 0x40

func (j *Job) pausedFlag() byte {
	if j.Paused() {
		return pausedFlag
	}
	return 0
}

// jobState reads the byte of a job's state, and what follows.
func (r *decoder) jobState() (state byte, more, paused bool) {
	b := r.byte()
	if state = b &^ (moreFlag | pausedFlag); state > byte(JobFailed) {
		r.fail("an unknown choice")
		return 0, false, false
	}
	return state, b&moreFlag != 0, b&pausedFlag != 0
}

func extended(more bool) byte {
	if more {
		return moreFlag
	}
	return 0
}

// extended reads the byte of a state of at most top, and whether more follows.
func (r *decoder) extended(top byte) (state byte, more bool) {
	b := r.byte()
	if b&^moreFlag > top {
		r.fail("an unknown choice")
		return 0, false
	}
	return b &^ moreFlag, b&moreFlag != 0
}

func (j *Job) hasMore() bool {
	return j.Turn != Turn{} || len(j.Finished) > 0 || j.Message != ""
}

func appendWorkflow(b []byte, w *Workflow) []byte {
	b = appendList(b, w.Edges, func(b []byte, e Edge) []byte { return appendString(appendString(b, e.From), e.To) })
	return appendVarint(appendBool(append(b, byte(w.Scheduler)|extended(w.Batch)), w.Coverage), w.Percent)
}

func decodeWorkflow(r *decoder) Workflow {
	edges := decodeList(r, func(r *decoder) Edge { return Edge{From: r.string(), To: r.string()} })
	scheduler, batch := r.extended(byte(schedule.TasksPercentage))
	return Workflow{Edges: edges, Batch: batch, Scheduler: schedule.TaskScheduler(scheduler), Coverage: r.bool(), Percent: r.varint()}
}

func appendMore(b []byte, j *Job) []byte {
	b = appendVarint(appendUvarint(b, uint64(j.Turn.Submitted)), j.Turn.Ordinal)
	b = appendBool(appendUvarint(b, uint64(j.Turn.Since)), j.Turn.Passed)
	return appendString(appendList(b, j.Finished, appendText), j.Message)
}

func decodeMore(r *decoder, j *Job) {
	j.Turn = Turn{Submitted: r.token(), Ordinal: r.varint(), Since: r.token(), Passed: r.bool()}
	j.Finished, j.Message = decodeList(r, (*decoder).string), r.string()
	if r.err == nil && (!j.hasMore() || !slices.IsSorted(j.Finished)) {
		r.fail("a job that adds nothing, or whose finished tasks are not sorted")
	}
}
