package datastore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/datastore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store"
)

// LogsConfig says where records go, and which of them.
type LogsConfig struct {
	Place
	// Types are the kinds of records to keep; default: those of the source document, run-error and
	// malformed-task-error. [All] keeps all.
	Types []string
}

// All as a type stands for all of them.
const All = "all"

// logsKind is the kind of the source document.
const logsKind = "coalesce-logs"

// OpenLogs opens the storage at PROJECT[/NAMESPACE]?types=run-error,parked&kind=…&database=…; all of the keys may be
// left out. It is for rotacmd.WithStorage.
func OpenLogs(text string) (journal.Appender, error) {
	place, values, err := parse(text, "types")
	if err != nil {
		return nil, err
	}
	c := LogsConfig{Place: place}
	if types := values.Get("types"); types != "" {
		c.Types = strings.Split(types, ",")
	}
	return NewLogs(c)
}

// Logs writes records of the journal as entities.
type Logs struct {
	client *datastore.Client
	c      LogsConfig
}

var _ journal.Appender = (*Logs)(nil)

// NewLogs returns a storage. It connects with the first record.
func NewLogs(c LogsConfig) (*Logs, error) {
	c.Kind = c.kind(logsKind)
	if len(c.Types) == 0 {
		c.Types = []string{string(journal.RunError), string(journal.Malformed)}
	}
	client, err := dial(context.Background(), c.Place)
	if err != nil {
		return nil, err
	}
	return &Logs{client, c}, nil
}

// Close closes the connection.
func (l *Logs) Close() error { return l.client.Close() }

// logEntry is a log entry of the source document. Indexed is what one filters by.
type logEntry struct {
	Timestamp int64  `datastore:"timestamp"` // ms since 1970, by the clock of the member that reported it
	TaskID    string `datastore:"task_id"`
	Type      string `datastore:"type"`
	Data      string `datastore:"data,noindex"`
}

// mostPut is how many entities one commit may have.
const mostPut = 500

// Append implements journal.Appender. A record that is appended again is the same entity.
func (l *Logs) Append(ctx context.Context, records ...journal.Record) error {
	var keys []*datastore.Key
	var entries []logEntry
	for _, r := range records {
		if !slices.Contains(l.c.Types, string(r.Kind)) && !slices.Contains(l.c.Types, All) {
			continue
		}
		data, err := json.Marshal(dataOf(r))
		if err != nil {
			return fmt.Errorf("encode a log entry: %w", err)
		}
		e := logEntry{Timestamp: r.AtMS, TaskID: r.Partition, Type: string(r.Kind), Data: string(data)}
		key := datastore.NameKey(l.c.Kind, e.id(), nil)
		key.Namespace = l.c.Namespace
		if slices.ContainsFunc(keys, key.Equal) {
			continue
		}
		keys, entries = append(keys, key), append(entries, e)
	}
	for len(keys) > 0 {
		n := min(len(keys), mostPut)
		if _, err := l.client.PutMulti(ctx, keys[:n], entries[:n]); err != nil {
			return l.explain(err)
		}
		keys, entries = keys[n:], entries[n:]
	}
	return nil
}

// id is made of the content, so that a repeated write is no second entry. It begins with no time: neighbouring keys
// would all be written on one server of Datastore.
func (e logEntry) id() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %q %q %s", e.Timestamp, e.TaskID, e.Type, e.Data))
	return hex.EncodeToString(sum[:16])
}

func (l *Logs) explain(err error) error {
	err = explain("write log entries of kind "+l.c.Kind, l.c.Place, err)
	if status.Code(rootOf(err)) == codes.InvalidArgument {
		return fmt.Errorf("%w: %w", store.ErrTooLarge, err) // what is wrong with one entry is found by halves, and dropped
	}
	return err
}

// entryData is data of a log entry.
type entryData struct {
	Type    string       `json:"type"`
	Message string       `json:"message"`
	Member  string       `json:"member,omitempty"`
	By      string       `json:"by,omitempty"`
	From    string       `json:"from,omitempty"`
	To      string       `json:"to,omitempty"`
	Cause   string       `json:"cause,omitempty"`
	GapMS   *int64       `json:"gap_ms,omitempty"`
	AtLeast *int64       `json:"gap_at_least_ms,omitempty"`
	Storage *storageData `json:"storage,omitempty"`
}

// storageData is where a malformed task is.
type storageData struct {
	Type     string    `json:"type"`
	Path     string    `json:"path"`
	Location *location `json:"location,omitempty"`
	Line     []string  `json:"line,omitempty"` // of the definition, numbered, with a caret below the place
}

type location struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

func dataOf(r journal.Record) entryData {
	d := entryData{Type: string(r.Kind), Message: r.Message, Member: r.Member, By: r.By, From: r.From, To: r.To,
		Cause: r.Cause, GapMS: r.GapMS, AtLeast: r.GapAtLeastMS}
	if s := r.Storage; s != nil {
		d.Storage = &storageData{Type: s.Type, Path: s.Path, Line: s.Lines}
		if s.Line > 0 {
			d.Storage.Location = &location{s.Line, s.Column}
		}
	}
	return d
}
