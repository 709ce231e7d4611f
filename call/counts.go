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

// Status is what a member's worker has done since it was made.
type Status struct {
	Running   int64 `json:"running"`   // now
	Queued    int64 `json:"queued"`    // in the pages of calls as this member has listed them last, which may be a while ago
	Done      int64 `json:"done"`      // calls that ended with a result here
	Failed    int64 `json:"failed"`    // calls that failed for good here
	Cancelled int64 `json:"cancelled"` // calls that ended here because they were cancelled while they ran
	Retried   int64 `json:"retried"`   // attempts that failed and are to be repeated
	Handled   int64 `json:"handled"`   // runs of functions that follow a failed call
	Released  int64 `json:"released"`  // calls that were handed back because the member left or lost its trust
	Lost      int64 `json:"lost"`      // runs whose outcome was not written: somebody else has the call, or the member stopped
	Expired   int64 `json:"expired"`   // outcomes that nobody collected, removed after their retention
	Unread    int64 `json:"unread"`    // times that a document could not be decoded, and was left alone
}

// Status returns the present counts.
func (w *Worker) Status() Status {
	c := &w.counts
	return Status{
		Running: c.running.Load(), Queued: c.queued.Load(), Done: c.done.Load(), Failed: c.failed.Load(), Cancelled: c.cancelled.Load(),
		Retried: c.retried.Load(), Handled: c.handled.Load(), Released: c.released.Load(), Lost: c.lost.Load(), Expired: c.expired.Load(), Unread: c.bad.Load(),
	}
}
