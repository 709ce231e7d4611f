package cluster

import (
	"fmt"
	"strings"
)

// The names of the constants in files, JSON and on screens.
var (
	spreadNames    = [...]string{"single", "every", "partitioned", "pool"}
	handoverNames  = [...]string{"at-most-one", "no-gap", "fast"}
	outcomeNames   = [...]string{"done", "failed"}
	memberNames    = [...]string{"prepared", "joined", "held"}
	partitionNames = [...]string{"waiting", "granted", "releasing", "adopting", "held", "parked", "finished", "blocked"}
	placementNames = [...]string{"planned", "offered", "claimed", "shared"}
	jobNames       = [...]string{"running", "completed", "killed", "failed", "pending"}
)

func name(names []string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("unknown-%d", i)
}

func parse[T ~uint8](what string, names []string, text []byte, to *T) error {
	for i, n := range names {
		if n == string(text) {
			*to = T(i)
			return nil
		}
	}
	return fmt.Errorf("%q is not a %s; one of %v", text, what, names)
}

// String returns the name.
func (s Spread) String() string { return name(spreadNames[:], uint8(s)) }

// MarshalText returns the name.
func (s Spread) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a name.
func (s *Spread) UnmarshalText(b []byte) error { return parse("spread", spreadNames[:], b, s) }

// String returns the name.
func (h Handover) String() string { return name(handoverNames[:], uint8(h)) }

// MarshalText returns the name.
func (h Handover) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads a name.
func (h *Handover) UnmarshalText(b []byte) error { return parse("hand-over", handoverNames[:], b, h) }

// String returns the name.
func (p Placement) String() string { return name(placementNames[:], uint8(p)) }

// MarshalText returns the name.
func (p Placement) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a name.
func (p *Placement) UnmarshalText(b []byte) error {
	return parse("placement", placementNames[:], b, p)
}

// String returns the name.
func (o Outcome) String() string { return name(outcomeNames[:], uint8(o)) }

// String returns the name.
func (s MemberState) String() string { return name(memberNames[:], uint8(s)) }

// MarshalText returns the name.
func (s MemberState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a name.
func (s *MemberState) UnmarshalText(b []byte) error {
	return parse("state of a member", memberNames[:], b, s)
}

// String returns the name.
func (s PartitionState) String() string { return name(partitionNames[:], uint8(s)) }

// MarshalText returns the name.
func (s PartitionState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a name.
func (s *PartitionState) UnmarshalText(b []byte) error {
	return parse("state of a partition", partitionNames[:], b, s)
}

// String returns the name.
func (s JobState) String() string { return name(jobNames[:], uint8(s)) }

// MarshalText returns the name.
func (s JobState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a name.
func (s *JobState) UnmarshalText(b []byte) error { return parse("state of a job", jobNames[:], b, s) }

// String returns the value in canonical text: equal values have equal text, whatever led to them.
func (v Value) String() string {
	var b strings.Builder
	if l, ok := v.Leader(); ok {
		fmt.Fprintf(&b, "leader %s term %d\n", l.Member, l.Term)
	}
	if e, ok := v.Epoch(); ok {
		fmt.Fprintf(&b, "epoch %s by %s\n", e, e.Leader)
	}
	for m := range v.Members() {
		fmt.Fprintf(&b, "member %s@%d %s", m.ID, m.Incarnation, m.State)
		if m.Draining {
			b.WriteString(" draining")
		}
		if m.Revoked {
			b.WriteString(" revoked")
		}
		b.WriteByte('\n')
	}
	for j := range v.Jobs() {
		fmt.Fprintf(&b, "job %s %s", j.ID, j.State)
		if len(j.Finished) > 0 {
			fmt.Fprintf(&b, " finished=%s", strings.Join(j.Finished, ","))
		}
		if j.Turn.Passed {
			b.WriteString(" passed")
		}
		if j.Paused() {
			fmt.Fprintf(&b, " paused by %s", j.PausedBy)
		}
		b.WriteByte('\n')
	}
	for p := range v.Partitions() {
		fmt.Fprintln(&b, p)
	}
	return b.String()
}
