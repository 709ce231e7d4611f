package call

import "sync/atomic"

// counts are what became of the calls that this member had to do with.
type counts struct {
	running                                                        atomic.Int64
	done, failed, cancelled, retried, released, lost, expired, bad atomic.Int64
	handled, queued                                                atomic.Int64
}

func (c *counts) of(s State) *atomic.Int64 {
	switch s {
	case Done:
		return &c.done
	case Cancelled:
		return &c.cancelled
	}
	return &c.failed
}

// Status counts what a member's worker has done since it was created.
type Status struct {
	Running   int64 `json:"running"`   // now
	Queued    int64 `json:"queued"`    // in the pages that this member listed last, which may be a while ago
	Done      int64 `json:"done"`      // calls that ended with a result here
	Failed    int64 `json:"failed"`    // calls that failed for good here
	Cancelled int64 `json:"cancelled"` // calls that ended here because they were cancelled while they ran
	Retried   int64 `json:"retried"`   // attempts that failed and will be retried
	Handled   int64 `json:"handled"`   // runs of functions that follow a failed call
	Released  int64 `json:"released"`  // calls that were returned because the member left or its lease expired
	Lost      int64 `json:"lost"`      // runs whose outcome was not written: another member has the call, or this one stopped
	Expired   int64 `json:"expired"`   // outcomes that no caller collected, removed after their retention
	Unread    int64 `json:"unread"`    // documents that could not be decoded and were left unchanged
}

// Status returns the present counters.
func (w *Worker) Status() Status {
	c := &w.counts
	return Status{
		Running: c.running.Load(), Queued: c.queued.Load(), Done: c.done.Load(), Failed: c.failed.Load(), Cancelled: c.cancelled.Load(),
		Retried: c.retried.Load(), Handled: c.handled.Load(), Released: c.released.Load(), Lost: c.lost.Load(), Expired: c.expired.Load(), Unread: c.bad.Load(),
	}
}
