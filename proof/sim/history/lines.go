package history

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/rota-run/rota/cluster"
)

// line is what members and the task type witness write: one JSON object on a line.
type line struct {
	AtNS      int64               `json:"at_ns"`
	Event     string              `json:"event"`
	Member    cluster.MemberID    `json:"member"`
	Partition cluster.PartitionID `json:"partition"`
	Token     cluster.Token       `json:"token"`
	Item      int64               `json:"item"`
}

// ReadLines reads the lines that processes wrote: joining and finding itself removed, start and stop of runs, acts. Incarnation is that of the process; 0 for a file that
// several write to. Lines of other events are left out. A last line that is not whole was being written when its process died: torn is 1.
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
		r := Record{At: l.AtNS, Member: l.Member, Incarnation: incarnation, Partition: l.Partition, Token: l.Token, Item: l.Item}
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

// Fence is a resource that refuses smaller tokens, for acts that were only written down: in their order, an act under a smaller token than
// one before becomes refused. Other records stay as they are.
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
