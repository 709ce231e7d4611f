// Package crowd decides how long one who writes for many waits for them.
//
// # Purpose
//
// Callers of one handle that come while a request is under way share the next one. When its answer lets all of them go, and all come back at once with
// their next record, the first of them would go alone, and the others wait for two requests instead of one. [Crowd.Wait] waits for those who were there
// a moment ago, a part of the time that a request takes, and never for long. One caller alone is not made to wait.
//
// # Where it comes from
//
// Group commit of databases (DeWitt et al. 1984, Implementation techniques for main memory database systems, section 5), with the crowd as it was seen in
// place of a fixed time.
package crowd

import (
	"runtime"
	"time"
)

// Most is how long a request waits for further callers at most.
const Most = time.Millisecond

// Crowd is what the writing goroutine has seen of its callers. Only that goroutine uses it.
type Crowd struct {
	expected int           // callers that were there when requests were answered: the last one, and less and less those before it
	took     time.Duration // the last request
}

// Wait returns when as many callers wait as are expected, at most limit of them, or when they have had their time. pending tells how many there are;
// wake gets something when there is another one, end when nothing is to be waited for any more.
func (c *Crowd) Wait(pending func() int, limit int, wake, end <-chan struct{}) {
	if expected := min(c.expected, limit); pending() < expected {
		timer := time.NewTimer(min(c.took/4, Most))
		defer timer.Stop()
		for pending() < expected {
			select {
			case <-wake:
			case <-timer.C:
				return
			case <-end:
				return
			}
		}
	}
	runtime.Gosched() // who is about to call does
}

// Alone reports whether the last caller was the only one.
func (c *Crowd) Alone() bool { return c.expected <= 1 }

// Answered notes that a request of some callers was answered, while others waited.
func (c *Crowd) Answered(took time.Duration, callers int) {
	c.took, c.expected = took, max(callers, c.expected-c.expected/4-1)
}
