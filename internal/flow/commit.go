package flow

// Hold tells whether a task waits before it puts more into an edge: so many messages are in it, so many are allowed,
// and so many workers take from it. An edge from which nobody takes is never full: with fewer slots than tasks its
// consumers come when this task is done, and would wait for ever.
func Hold(pending, bound uint64, consumers int) bool {
	return bound > 0 && pending >= bound && consumers > 0
}

// Fate is what becomes of a message that was delivered.
type Fate uint8

// The fates.
const (
	Together Fate = iota // all its segments at once
	OneByOne             // each by itself; those that fail are dead letters
	Dead                 // all of it is a dead letter: it may have brought down each worker that had it
)

// FateOf says how a message is worked on that is delivered for the n-th time, where a function may fail so many times.
func FateOf(delivered, attempts int) Fate {
	switch {
	case attempts <= 0 || delivered <= attempts:
		return Together
	case delivered <= 3*attempts:
		return OneByOne
	}
	return Dead
}
