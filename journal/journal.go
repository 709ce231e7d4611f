package journal

import (
	"context"
	"time"
)

// Kind is the kind of a record.
type Kind string

// The kinds.
const (
	RunError  Kind = "run-error"
	Malformed Kind = "malformed-task-error"
	Parked    Kind = "parked"
	Moved     Kind = "moved"
	// Resumed: a member runs again what it did not run for a while, though it was to: it was suspended, the store was away, or it restarted.
	Resumed Kind = "resumed"
	// Suspended: a member's process was suspended, or had no processor, so shortly that it kept its tasks.
	Suspended    Kind = "suspended"
	MemberJoined Kind = "member-joined"
	MemberLeft   Kind = "member-left"
	Refused      Kind = "refused"
	Recovered    Kind = "recovered" // a malformed task or failing source works again
	// A source has submitted, updated or ended a job, because its file is new, was edited, or is gone.
	TaskAdded   Kind = "task-added"
	TaskChanged Kind = "task-changed"
	TaskRemoved Kind = "task-removed"
	// JobEnded: a job is completed, or has failed.
	JobEnded Kind = "job-ended"
	// Asked: a person or a program has submitted or killed a job, drained a member, or the like; By is who.
	Asked Kind = "asked"
	// SourcesDiffer: the members' copies of a source are not the same.
	SourcesDiffer Kind = "sources-differ"
	StoreLost     Kind = "store-lost"
	StoreBack     Kind = "store-back"
	Unreadable    Kind = "unreadable" // marks a part of the journal that cannot be decoded
)

// Kinds are all kinds.
func Kinds() []Kind {
	return []Kind{RunError, Malformed, Parked, Moved, Resumed, Suspended, MemberJoined, MemberLeft, Refused, Recovered, TaskAdded, TaskChanged, TaskRemoved,
		JobEnded, Asked, SourcesDiffer, StoreLost, StoreBack, Unreadable}
}

// Record is one record. Fields that a kind does not use are empty.
type Record struct {
	AtMS      int64  `json:"at_ms"`
	Kind      Kind   `json:"kind"`
	Member    string `json:"member,omitempty"`    // the member that it happened to, else the one that tells it
	By        string `json:"by,omitempty"`        // asked: who, as user@host or as the member whose program it was; member-left: who removed it
	Partition string `json:"partition,omitempty"` // or task
	Message   string `json:"message,omitempty"`
	From      string `json:"from,omitempty"` // moved: former owner
	To        string `json:"to,omitempty"`   // moved: new owner
	Cause     string `json:"cause,omitempty"`
	Token     uint64 `json:"token,omitempty"`
	GapMS     *int64 `json:"gap_ms,omitempty"` // moved, resumed, suspended: time in which nobody ran it; negative is an overlap; absent when unknown
	// GapAtLeastMS: the gap is unknown, since it began before the reporting member could see it; it is at least so long.
	GapAtLeastMS *int64   `json:"gap_at_least_ms,omitempty"`
	Storage      *Storage `json:"storage,omitempty"`
}

// Storage is the place of a malformed definition (source document coalesce, malformed-task-error).
type Storage struct {
	Type   string   `json:"type"` // "directory", or what the files of a program say
	Path   string   `json:"path"`
	Line   int      `json:"line,omitempty"` // from 1; 0 if unknown
	Column int      `json:"column,omitempty"`
	Lines  []string `json:"lines,omitempty"` // the relevant lines, with their numbers and a caret
}

// Query selects records.
type Query struct {
	Partition string    // "" for all; "job" also matches its partitions
	Kinds     []Kind    // none for all
	Since     time.Time // zero for all
	Until     time.Time // only records before this time; zero for all
	Limit     int       // most records, the newest ones; 0 for 1000
}

// Appender is a place that takes records: a [Journal], or one that only other programs read.
type Appender interface {
	// Append stores records; it may be called from any goroutine. A record may be duplicated after an unknown outcome.
	Append(ctx context.Context, records ...Record) error
}

// Journal stores records.
type Journal interface {
	Appender
	// Read returns the matching records, oldest first.
	Read(ctx context.Context, q Query) ([]Record, error)
}
