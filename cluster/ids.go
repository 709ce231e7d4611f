package cluster

import (
	"fmt"
	"strconv"
	"strings"
)

// MemberID is the stable name of a member: 1–128 characters of [A-Za-z0-9._-], not starting with '.' or '-'.
// A process that restarts keeps its MemberID and gets a new [Incarnation].
type MemberID string

// JobID names a job within its cluster; same alphabet as [MemberID].
// IDs that begin with "rota." are reserved for jobs that Rota submits itself (sources).
type JobID string

// WriterID names one start of one process that appends to the log. Two processes must never use the same one:
// the writer chooses it at random, outside this package.
type WriterID string

// Index is the position of an entry in the log. It grows strictly; it need not be dense. Zero is before the first
// entry.
type Index uint64

// Incarnation is the index of the entry that prepared this start of a member. Zero is no incarnation.
type Incarnation = Index

// Token is a fencing token: it grows with every new owner of a partition. It is the index of the entry that
// granted the partition. Zero is no token.
type Token = Index

// PartitionID names a partition: "job", "job/task", "job#key" or "job/task#key". The task is omitted if the job
// has one unnamed task, the key if the spread is single. The key is everything after the first '#'.
type PartitionID string

// NewPartitionID joins the parts; task and key may be empty.
func NewPartitionID(job JobID, task, key string) PartitionID {
	s := string(job)
	if task != "" {
		s += "/" + task
	}
	if key != "" {
		s += "#" + key
	}
	return PartitionID(s)
}

// Reserved tells the partitions of jobs that Rota submits itself.
func (p PartitionID) Reserved() bool { return strings.HasPrefix(string(p), "rota.") }

// Split returns the parts that [NewPartitionID] joined.
func (p PartitionID) Split() (job JobID, task, key string) {
	s, key, _ := strings.Cut(string(p), "#")
	j, task, _ := strings.Cut(s, "/")
	return JobID(j), task, key
}

// maxName bounds names; maxKey bounds keys of partitions.
const (
	maxName = 128
	maxKey  = 1024
)

// CheckName reports why s cannot be a member, job or task name, or nil.
func CheckName(s string) error {
	switch {
	case s == "":
		return fmt.Errorf("the name is empty")
	case len(s) > maxName:
		return fmt.Errorf("the name %.20q… has %d characters, at most %d are allowed", s, len(s), maxName)
	case s[0] == '.' || s[0] == '-':
		return fmt.Errorf("the name %q begins with %q", s, s[0])
	}
	for _, r := range s {
		switch {
		case r > 0x7f:
			return fmt.Errorf("the name %q has %q; letters, digits, '.', '_' and '-' of ASCII are allowed", s, r)
		case !nameByte(byte(r)):
			return fmt.Errorf("the name %q has %q; letters, digits, '.', '_' and '-' are allowed", s, r)
		}
	}
	return nil
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}

// CheckKey reports why s cannot be the key of a partition, or nil. Keys are printable ASCII or UTF-8 without control
// characters.
func CheckKey(s string) error {
	switch {
	case s == "":
		return fmt.Errorf("the key is empty")
	case len(s) > maxKey:
		return fmt.Errorf("the key %.20q… has %d bytes, at most %d are allowed", s, len(s), maxKey)
	}
	for _, r := range s {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			return fmt.Errorf("the key %q has a control character or is not UTF-8", s)
		}
	}
	return nil
}

// String returns the index in decimal.
func (i Index) String() string { return strconv.FormatUint(uint64(i), 10) }

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
	return fmt.Errorf("%q is not a %s; one of %s", text, what, strings.Join(names, ", "))
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
