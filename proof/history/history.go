// Package history decides from what was written down whether the promises G1–G6 were kept.
//
// # Purpose
//
// A history is a list of records of what members, a resource and a tormentor wrote down during one run: of a simulated
// cluster, or of real processes on one machine. [Decide] is a pure function of it. It knows nothing of protocols and
// stores: it can be wrong only about the promises.
//
// # What is decided
//
//	G1  tokens of a partition grow with each new owner, and a token has one owner
//	G2  runs of a partition overlap only where the earlier owner was suspended or killed; acts lie inside the run that did them
//	G3  a resource that refuses smaller tokens takes nothing from a former owner
//	G4  a partition is without a run for no longer than the bound
//	G5  an accepted partition runs at the end, or is removed, finished or parked
//	G6  each item of a finite partition that is finished was done at least once
//
// # What is not guaranteed
//
// What nobody wrote down was not seen. The bound of G4 counts again when the owner itself, or the member that the
// partition has just been granted to, fails: the promise is about one failure. Excused spans (the store away, no live
// member) are taken from the caller on trust; they stand in the report.
package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
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

	Gaps     []Span    // all that count against the bound
	Silences []Silence // all times in which nobody ran a partition that should run

	Runs, Moves, Acts, Refused, Items int
}

// Silence is a whole gap, with the parts of it in which nobody could have run the partition.
type Silence struct {
	Span
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

// Kind says what a record tells.
type Kind uint8

// The kinds.
const (
	Began     Kind = iota + 1 // a process of Member began
	Killed                    // it was killed; from this instant on it did nothing
	Exited                    // it ended by itself
	Suspended                 // it was suspended; At is an instant right before
	Resumed                   // it goes on; At is an instant right before
	Joined                    // it is a member
	Left                      // it is none any more, or has begun to leave
	Accepted                  // Partition was taken in
	Removed                   // it was taken out in order, by whoever may
	Finished                  // it is done for ever
	Parked                    // it has failed too often
	Granted                   // the log says that Member owns Partition under Token; without a Member: nobody does
	Started                   // a run began
	Stopped                   // it ended
	Acted                     // the resource took an effect of a run
	Refused                   // the resource refused one, because its token was too small
)

var kindNames = [...]string{
	"", "began", "killed", "exited", "suspended", "resumed", "joined", "left", "accepted", "removed", "finished",
	"parked", "granted", "started", "stopped", "acted", "refused",
}

// String is the word for the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// ParseKind is the opposite of String.
func ParseKind(s string) (Kind, bool) {
	i := max(0, slices.Index(kindNames[:], s))
	return Kind(i), i > 0 //nolint:gosec // a small number
}

// Record is one line of a history. Which fields count depends on Kind.
type Record struct {
	At   int64 `json:"at_ns"` // ns, on one clock for the whole history
	Kind Kind  `json:"-"`
	// Member and Incarnation name a process; Incarnation is any number that is another one for each start. Acts may
	// leave it 0.
	Member      cluster.MemberID    `json:"member"`
	Incarnation uint64              `json:"-"`
	Partition   cluster.PartitionID `json:"partition"`
	Token       cluster.Token       `json:"token"`
	// Item is what an act did of a finite partition: 1 to Promise.Items; 0 for no item.
	Item int64 `json:"item"`
}

// String is the record on one line.
func (r Record) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", millis(r.At), r.Kind)
	if r.Member != "" {
		fmt.Fprintf(&b, " %s.%d", r.Member, r.Incarnation)
	}
	if r.Partition != "" {
		fmt.Fprintf(&b, " %s", r.Partition)
	}
	if r.Token != 0 {
		fmt.Fprintf(&b, " token %d", r.Token)
	}
	if r.Item != 0 {
		fmt.Fprintf(&b, " item %d", r.Item)
	}
	return b.String()
}

// millis is an instant in ms with three digits behind the point.
func millis(ns int64) string {
	us := ns / int64(time.Microsecond)
	return fmt.Sprintf("%d.%03d", us/1000, us%1000)
}

// line is what members and the task type witness write: one JSON object on a line.
type line struct {
	Record
	Event string `json:"event"`
}

// events are the kinds of what they write.
// read-only: a table.
var events = map[string]Kind{"join": Joined, "removed": Left, "start": Started, "stop": Stopped, "act": Acted}

// ReadLines reads the lines that processes wrote: joining and finding itself removed, start and stop of runs, acts.
// Incarnation is that of the process; 0 for a file that several write to. Lines of other events are left out. A last
// line that is not whole was being written when its process died: torn is 1.
func ReadLines(data []byte, incarnation uint64) (records []Record, torn int, err error) {
	number := 0
	for text := range bytes.Lines(data) {
		number++
		if !bytes.HasSuffix(text, []byte("\n")) {
			torn++
			break
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, 0, fmt.Errorf("line %d of a witness: %w", number, err)
		}
		l.Kind, l.Incarnation = events[l.Event], incarnation
		switch l.Kind {
		case 0:
			continue
		case Joined:
			l.Token = 0
		}
		records = append(records, l.Record)
	}
	return records, torn, nil
}

// Fence is a resource that refuses smaller tokens, for acts that were only written down: in their order, an act under a
// smaller token than one before becomes refused. Other records stay as they are.
func Fence(records []Record) []Record {
	out := slices.Clone(records)
	newest := make(map[cluster.PartitionID]cluster.Token)
	for i := range out {
		switch r := &out[i]; {
		case r.Kind != Acted:
		case r.Token < newest[r.Partition]:
			r.Kind = Refused
		default:
			newest[r.Partition] = r.Token
		}
	}
	return out
}
