package flow

// Write is one write of a commit.
type Write uint8

// The writes. Each puts a message under a name of its own, create-only, or acknowledges the inputs.
const (
	Record      Write = iota // the outputs, as the record of the unit: Stored or Exists
	ReadRecord               // what somebody else has recorded: Stored
	Output                   // one output: Stored or Exists
	Acknowledge              // the inputs: Stored
	Committed                // nothing is left
)

// Answer is what became of a write. One that failed, or whose outcome is unknown, ends the commit: the inputs will be delivered again.
type Answer uint8

// The answers.
const (
	Stored Answer = iota
	Exists        // somebody was first
)

// Commit is the order of writes by which a queue without transactions makes a unit a fact. The first create-only write decides: for a steady unit,
// of which everybody writes the one output under the same name, that is the output; else it is a record of all outputs, and whoever finds one
// writes what is in it. The inputs are acknowledged when all of it is stored.
type Commit struct {
	now     Write
	output  int // the one that is written, or was last
	outputs int
	steady  bool
	foreign bool
}

// NewCommit begins the commit of a unit.
func NewCommit(outputs int, steady bool) (Commit, Write) {
	c := Commit{now: Record, output: -1, outputs: outputs}
	if steady && outputs == 1 {
		c.now, c.output, c.steady = Output, 0, true
	}
	return c, c.now
}

// Step takes the answer to the last write and says which is next, and of which output. Recorded is how many outputs the record has that was read.
func (c Commit) Step(a Answer, recorded int) (next Commit, w Write, output int) {
	decides := c.now == Record || c.steady && c.now == Output
	c.foreign = c.foreign || decides && a == Exists
	switch {
	case c.now == Record && a == Exists:
		c.now = ReadRecord
		return c, c.now, 0
	case c.now == Acknowledge:
		c.now = Committed
		return c, c.now, 0
	case c.now == ReadRecord:
		c.outputs = recorded
	}
	if c.output+1 < c.outputs {
		c.now, c.output = Output, c.output+1
		return c, c.now, c.output
	}
	c.now = Acknowledge
	return c, c.now, 0
}

// Fresh tells whether this commit made the unit a fact.
func (c Commit) Fresh() bool { return !c.foreign }

// Hold tells whether a task waits before it puts more into an edge: so many messages are in it, so many are allowed, and so many workers take from it.
// An edge from which nobody takes is never full: with fewer slots than tasks its consumers come when this task is done, and would wait for ever.
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
