package history

import (
	"fmt"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
)

// History is what was written down during one run.
type History struct {
	// Records in any order, but for those of one resource (acted, refused) and those of the log (granted): these stand
	// in the order in which the resource and the log had them.
	Records []Record
	// Promises of partitions; one that is not listed has the zero promise.
	Promises []Promise
	// Excused are spans in which nobody could run a partition. They do not count as gaps, and the bound counts again at
	// their end.
	Excused []Span
	// Helpless are those spans in which nobody could run a partition whatever the members did. They end no gap: each
	// silence says how much of it they are.
	Helpless []Span
	// Stalls are spans in which the whole machine stood still: all processes were suspended, though nobody sent them a
	// signal.
	Stalls []Span
	Bounds Bounds
	// End is the instant at which the observation ended; later records are not expected.
	End int64
}

// Promise says what is promised of one partition.
type Promise struct {
	Partition cluster.PartitionID
	Overlaps  bool  // it may run twice for a while: no-gap, fast, or keep on store loss
	Items     int64 // a finite partition: items 1 to Items are to be done; 0 for one without an end
}

// Span is a time in which something could not be.
type Span struct {
	From, To int64
	// Partition is the only one that it excuses; "" for all.
	Partition cluster.PartitionID
	Why       string
}

// Bounds are what a history is held to.
type Bounds struct {
	Gap time.Duration // longest time without a run after one failure; 0 checks none
	// Lease is how long others wait for an owner that was suspended, at most.
	Lease time.Duration
	// Wake is how long a process that was suspended may take, after it goes on, to see that it is no owner any more.
	Wake time.Duration
}

// Report is the verdict with what was measured.
type Report struct {
	Violations []Violation

	LongestGap     time.Duration // that counts against the bound
	LongestSilence time.Duration // without a run, with what was excused
	LongestOverlap time.Duration // excused ones too
	Wanted, Silent time.Duration // summed over all partitions: they should run, and nobody who was awake did
	Overlaps       int           // pairs of runs that were not excused
	// LongestUnexcused is the longest overlap of such a pair.
	LongestUnexcused time.Duration
	ExcusedPairs     int // pairs of runs that overlapped because the earlier owner was suspended

	Gaps     []Gap     // all that count against the bound
	Silences []Silence // all times in which nobody ran a partition that should run

	Partitions, Runs, Moves, Acts, Refused, Items int
}

// Gap is a time in which nobody ran a partition that should run.
type Gap struct {
	Partition cluster.PartitionID
	From, To  int64
}

// Silence is a whole gap, with the parts of it in which nobody could have run the partition.
type Silence struct {
	Gap
	Helpless time.Duration
	Asleep   time.Duration // while an owner was suspended, as long as its lease lasts, beside that
}

// OK tells whether all promises were kept.
func (r Report) OK() bool { return len(r.Violations) == 0 }

// Violation is a promise that was not kept.
type Violation struct {
	Promise   string // G1 to G6
	Partition cluster.PartitionID
	Text      string
	Records   []Record // that prove it
}

// String is the violation with its records, a line each.
func (v Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s", v.Promise, v.Partition, v.Text)
	for _, r := range v.Records {
		fmt.Fprintf(&b, "\n  %s", r)
	}
	return b.String()
}
