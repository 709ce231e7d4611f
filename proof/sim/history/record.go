package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
)

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
	for i, name := range kindNames {
		if i > 0 && name == s {
			return Kind(i), true
		}
	}
	return 0, false
}

// Record is one line of a history. Which fields count depends on Kind.
type Record struct {
	At   int64 // ns, on one clock for the whole history
	Kind Kind
	// Member and Incarnation name a process; Incarnation is any number that is another one for each start. Acts may
	// leave it 0.
	Member      cluster.MemberID
	Incarnation uint64
	Partition   cluster.PartitionID
	Token       cluster.Token
	// Item is what an act did of a finite partition: 1 to Promise.Items; 0 for no item.
	Item int64
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
	AtNS      int64               `json:"at_ns"`
	Event     string              `json:"event"`
	Member    cluster.MemberID    `json:"member"`
	Partition cluster.PartitionID `json:"partition"`
	Token     cluster.Token       `json:"token"`
	Item      int64               `json:"item"`
}

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
		r := Record{At: l.AtNS, Member: l.Member, Incarnation: incarnation, Partition: l.Partition, Token: l.Token,
			Item: l.Item}
		switch l.Event {
		case "join":
			r.Kind, r.Token = Joined, 0
		case "removed":
			r.Kind = Left
		case "start":
			r.Kind = Started
		case "stop":
			r.Kind = Stopped
		case "act":
			r.Kind = Acted
		default:
			continue
		}
		records = append(records, r)
	}
	return records, torn, nil
}

// Fence is a resource that refuses smaller tokens, for acts that were only written down: in their order, an act under a
// smaller token than one before becomes refused. Other records stay as they are.
func Fence(records []Record) []Record {
	out := make([]Record, len(records))
	newest := make(map[cluster.PartitionID]cluster.Token)
	for i, r := range records {
		if r.Kind == Acted {
			if r.Token < newest[r.Partition] {
				r.Kind = Refused
			}
			newest[r.Partition] = max(newest[r.Partition], r.Token)
		}
		out[i] = r
	}
	return out
}
