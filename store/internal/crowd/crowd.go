// Package crowd decides how long one who writes for many waits for them.
//
// # Purpose
//
// Callers of one handle that come while a request is under way share the next one. When its answer lets all of them go,
// and all come back at once with their next record, the first of them would go alone, and the others wait for two
// requests instead of one. [Crowd.Wait] waits for those who were there a moment ago, a part of the time that a request
// takes, and never for long. One caller alone is not made to wait.
//
// # Where it comes from
//
// Group commit of databases (DeWitt et al. 1984, Implementation techniques for main memory database systems, section
// 5), with the crowd as it was seen in place of a fixed time.
package crowd

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Most is how long a request waits for further callers at most.
const Most = time.Millisecond

// Crowd is what the writing goroutine has seen of its callers. Only that goroutine uses it, but for Enough.
type Crowd struct {
	expected int           // callers that were there when requests were answered: the last one, and less and less those before it
	took     time.Duration // the last request
	awaited  atomic.Int64  // callers, while Wait waits for them; else 0
}

// Wait returns when as many callers wait as are expected, at most limit of them; when none has come for an eighth of a
// request; or when they have had their time. pending tells how many there are; wake gets something when there are
// Enough, end when nothing is to be waited for any more.
func (c *Crowd) Wait(pending func() int, limit int, wake, end <-chan struct{}) {
	expected, there := min(c.expected, limit), pending()
	if there < expected {
		c.awaited.Store(int64(expected))
		defer c.awaited.Store(0)
		gap, most := min(c.took/8, Most/2), min(c.took, Most)
		timer := time.NewTimer(gap)
		defer timer.Stop()
		for waited := gap; pending() < expected; {
			select {
			case <-wake:
			case <-timer.C:
				before := there
				if there = pending(); there == before || waited >= most {
					return
				}
				waited += gap
				timer.Reset(gap)
			case <-end:
				return
			}
		}
	}
	runtime.Gosched() // who is about to call does
}

// Enough reports whether so many callers are all that Wait waits for. A caller that finds it so wakes it; others need
// not.
func (c *Crowd) Enough(callers int) bool {
	n := c.awaited.Load()
	return n > 0 && callers >= int(n)
}

// Alone reports whether the last caller was the only one.
func (c *Crowd) Alone() bool { return c.expected <= 1 }

// Answered notes that a request of some callers was answered, while others waited.
func (c *Crowd) Answered(took time.Duration, callers int) {
	c.took, c.expected = took, max(callers, c.expected-c.expected/4-1)
}
