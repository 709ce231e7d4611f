package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rota-run/rota/internal/safetext"
)

// Kind is the kind of a record.
type Kind string

// The kinds.
const (
	RunError  Kind = "run-error"
	Malformed Kind = "malformed-task-error"
	Parked    Kind = "parked"
	Moved     Kind = "moved"
	// Resumed: a member runs again what it did not run for a while, though it was to: it was suspended, the store was
	// away, or it restarted.
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
	return []Kind{RunError, Malformed, Parked, Moved, Resumed, Suspended, MemberJoined, MemberLeft, Refused, Recovered,
		TaskAdded, TaskChanged, TaskRemoved,
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
	// GapAtLeastMS: the gap is unknown, since it began before the reporting member could see it; it is at least so
	// long.
	GapAtLeastMS *int64   `json:"gap_at_least_ms,omitempty"`
	Count        int64    `json:"count,omitempty"` // of the equal records that this one sums up; 0: it is a single one
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

// Line returns the record on one line, without its time and kind. Control and bidi characters become spaces.
func (r Record) Line() string {
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if r.Storage != nil {
		place := r.Storage.Path
		if r.Storage.Line > 0 {
			place += fmt.Sprintf(":%d:%d", r.Storage.Line, r.Storage.Column)
		}
		add(place)
	} else {
		add(r.Partition)
	}
	switch {
	case r.From != "" && r.To != "":
		add(r.From + " → " + r.To)
	case r.To != "":
		add("→ " + r.To)
	}
	add(r.Message)
	add(r.Cause)
	switch {
	case r.By != "":
		add("by " + r.By)
	case r.GapMS != nil:
		add(gap(*r.GapMS))
	case r.GapAtLeastMS != nil:
		add("gap unknown, at least " + (time.Duration(*r.GapAtLeastMS) * time.Millisecond).String())
	case r.Kind == Moved:
		add("gap unknown")
	}
	return safetext.Line(strings.Join(parts, "  "), ' ')
}

func gap(ms int64) string {
	if ms < 0 {
		return fmt.Sprintf("overlap %s", time.Duration(-ms)*time.Millisecond)
	}
	return fmt.Sprintf("gap %s", time.Duration(ms)*time.Millisecond)
}

// String returns the record as rota events shows it: time, kind, what happened; below a malformed definition the
// relevant lines.
func (r Record) String() string {
	s := fmt.Sprintf("%s  %-10s  %s", time.UnixMilli(r.AtMS).Format("15:04:05"), r.Kind, r.Line())
	if r.Storage != nil {
		for _, l := range r.Storage.Lines {
			s += "\n      " + safetext.Line(l, ' ')
		}
	}
	return s
}

// Memory is a journal in the process, with a bounded number of the newest records.
type Memory struct {
	mu      sync.Mutex
	records []Record
	most    int
}

var _ Journal = (*Memory)(nil)

// NewMemory returns a journal of at most that many records, the newest; 0 means 1000.
func NewMemory(most int) *Memory {
	if most <= 0 {
		most = usualLimit
	}
	return &Memory{most: most}
}

// Append implements Journal.
func (m *Memory) Append(ctx context.Context, records ...Record) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records = append(m.records, records...)
	if len(m.records) > 2*m.most { // now and then, so that an append costs the same however many there are
		m.records = append([]Record(nil), m.newest()...)
	}
	return nil
}

func (m *Memory) newest() []Record { return m.records[max(0, len(m.records)-m.most):] }

// Read implements Journal.
func (m *Memory) Read(ctx context.Context, q Query) ([]Record, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return q.answer(m.newest()), nil
}

// File appends records to a file, one JSON object per line. It opens the file for each Append, so that it may be
// renamed at any time.
type File struct {
	path string
	mu   sync.Mutex
}

var _ Appender = (*File)(nil)

// NewFile returns an appender to the file at path. It is made (mode 0640) if it does not exist.
func NewFile(path string) (*File, error) {
	f := &File{path: path}
	return f, f.write(nil)
}

// Append implements Appender. After an error the file may end with a part of a line.
func (f *File) Append(_ context.Context, records ...Record) error {
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	enc.SetEscapeHTML(false)
	for _, r := range records {
		if err := enc.Encode(r); err != nil {
			return fmt.Errorf("encode a record of the journal: %w", err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.write(lines.Bytes())
}

func (f *File) write(lines []byte) error {
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640) //nolint:gosec // the user names the file, and its group may read it
	if err != nil {
		return fmt.Errorf("open the journal: %w", err)
	}
	_, err = file.Write(lines)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}
