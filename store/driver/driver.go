package driver

import (
	"context"
	"fmt"
	"time"

	"github.com/rota-run/rota/store"
)

// Driver is one handle on a store. It also has [Documents], or [Journals], or both.
type Driver interface {
	Limits() Limits
	// Close ends watches and calls of this handle. Later calls return store.ErrClosed. Closing it again does nothing.
	Close() error
}

// Documents are rows with a version each. Kafka's are folded from a journal.
type Documents interface {
	// Read returns the rows of a query, in the order that Query promises.
	Read(ctx context.Context, q Query) (Rows, error)
	// Swap does op and all of with, or nothing. It compares the version of op's key alone; with are creates of Once
	// keys that nobody else writes, at most Limits.With. The version is the new one of op's key, "" after a delete.
	Swap(ctx context.Context, op Op, with ...Op) (Version, error)
	// Free removes Once keys that nobody reads any more. Keys ascend, and no key of another kind lies between the first
	// and the last, so a driver may remove the whole range. It is not atomic, and may be repeated: an error says only
	// that some may be left.
	Free(ctx context.Context, keys []string) error
	// Watch calls hint, which never blocks and never calls the driver, once when it listens, and then when a row below
	// prefix may have changed: hints are merged, may be late, and may have no cause. It returns an error when hints may
	// have been lost, and the caller begins again; errors.ErrUnsupported means that the caller must poll.
	Watch(ctx context.Context, prefix string, hint func()) error
}

// Leaser is the ability of a store to remove what its owner does not renew.
type Leaser interface {
	// Lease begins one that lasts for ttl at least if it is not renewed. After an error there may be one that holds
	// nothing, and runs out; the error is not store.ErrUnknown.
	Lease(ctx context.Context, ttl time.Duration) (Lease, error)
	// EndLease ends the lease of another handle by its key: its rows are gone then, and what its owner has sent before
	// comes to nothing. One that has ended is no error.
	EndLease(ctx context.Context, key string) error
}

// Hold is what rows are tied to: they vanish when it ends. It is a [Lease] or a [Vigil]. Deletes and ends are the
// store's, so the engine writes no tombstones where there are holds.
type Hold interface {
	// Swap is Documents.Swap of a row of this hold. store.ErrSession: it has ended, and nothing was changed.
	Swap(ctx context.Context, op Op) (Version, error)
	// End ends it. One that has ended is no error.
	End(ctx context.Context) error
	// Close frees what this handle keeps of it, and sends nothing.
	Close()
}

// Lease is one lease, a hold that runs out.
type Lease interface {
	Hold
	TTL() time.Duration // as granted, not less than what was asked for
	Began() time.Time   // when it was asked for
	Key() string        // for EndLease; it is never that of another lease
	// Renew keeps it for TTL from asked on, which is when the request was sent that the store has acknowledged.
	// store.ErrSession: it has ended. After another error it may be renewed or not; that is never store.ErrUnknown.
	Renew(ctx context.Context) (asked time.Time, err error)
}

// Vigils is the ability of a store to see that a process has ended.
type Vigils interface {
	// Vigil begins one. ttl says how soon the owner's silence tells others that it may be dead, for where the store
	// cannot see the end of its process. After an error there may be a vigil that holds nothing; the error is not
	// store.ErrUnknown.
	Vigil(ctx context.Context, ttl time.Duration) (Vigil, error)
	// EndVigil ends the vigil of another handle by the text of its key: its rows are gone then, and what its owner has
	// sent before comes to nothing. One that has ended is no error.
	EndVigil(ctx context.Context, key string) error
}

// Vigil is a hold that does not run out: it lasts until End, or until the store sees that its process has ended. A
// process that is suspended, or whose connection broke, keeps it. Its end is for ever, and the same for all: from some
// moment on no read shows a row of it, a swap meets nothing where one stood, and watches of its rows get a hint. That
// the store removes the rows later is its own affair.
type Vigil interface {
	Hold
	// EndKey is never that of another vigil. Without a text, it is ended by the file alone.
	EndKey() store.EndKey
	// Ended is closed when this handle learns that others have ended it. nil: others cannot.
	Ended() <-chan struct{}
}

// RowLease is a lease that the store does not know of: it is its rows, each with a time to live.
type RowLease interface {
	Lease
	// Renewed is when the last request was sent that has renewed all rows. Swap renews all others before it writes its
	// own, so the engine renews by it.
	Renewed() time.Time
	// KeyOf is Key where the rows of the lease are among some keys.
	KeyOf(keys ...string) string
}

// Version is the version of one key. It is opaque, compared for equality, and "" where the key is not there. It never
// comes back: not when the same bytes are written again, nor after a delete and a create, nor after a failover.
type Version string

// Row is a key as it was read.
type Row struct {
	Key, Name string
	Value     []byte
	Version   Version
	Same      bool // the version is still Query.Known: Name and Value were not sent
}

// Op writes one key if its version is If. However often one with If != "" is sent, it is done at most once, because
// versions never come back.
type Op struct {
	Key, Name string  // Name is unique, given by the engine, and stored beside Value: it finds a lost answer
	If        Version // "" creates
	Value     []byte
	Delete    bool // removes the row; the version If has to match here, too
	Once      bool // the key is never written again once it is there, and may be freed
	Beat      bool // wakes no watch, and need not survive a power cut that no later write survives: a heartbeat
}

// Query asks for a range, then for keys. The order is the promise: each row is as it was at the moment of the next row,
// or earlier, the whole range at the moment of the first key, or earlier, and all at moments within the call. So what
// is true of a row and can never become false is true of all that follow.
//
// A row shows each write that was acknowledged to anybody before the call began. Stale lifts that, and so does a range
// where Limits.Range is Late.
type Query struct {
	From, To string    // [From, To), sorted bytewise, at most Limit rows; no range if From is "". "k\x00" is behind k
	Limit    int       // at least 1 if there is a range
	Keys     []string  // one row each, in this order; a key may come twice
	Known    []Version // of Keys, or nil: a row of a version that is known may be Same
	Stale    bool
	Bare     bool // the rows of the range need only their keys
}

// Rows are the answer to a Query.
type Rows struct {
	Range []Row
	More  bool // the range has rows behind the last one
	Keys  []Row
}

// Limits are what a store can do, in bytes and numbers. They do not change while a handle is open.
type Limits struct {
	Value   int       // bytes of a value
	Swap    int       // bytes of a Swap: values and keys, and Each for each write; of an Append of several records
	Each    int       // what each write of a Swap, or record of an Append, adds
	With    int       // writes beside op in a Swap
	Keys    int       // keys that one request reads; a Query may have more
	Range   RangeKind // how a range is read
	Page    int       // rows of a range that a list should ask for at once, if that is not a few hundred
	Batch   int       // records of one Append of a journal; 0 is 1
	Lingers bool      // a named journal may be seen by others for a moment after it was dropped
}

// RangeKind says how a store reads a range.
type RangeKind int

// The kinds of ranges.
const (
	Fresh RangeKind = iota // as any read
	Names                  // as any read, but each value is a request of its own
	Late                   // a search: rows may be missing, or gone, or older; for lists alone
)

// Conflict says that a Swap was refused since the version is another one. It is a store.ErrConflict.
type Conflict struct {
	Row *Row // what stands there, if the answer told it; else nil
}

// Error implements error.
func (c *Conflict) Error() string {
	if c.Row == nil {
		return store.ErrConflict.Error()
	}
	return fmt.Sprintf("%v: %q has version %q", store.ErrConflict, c.Row.Key, c.Row.Version)
}

// Unwrap makes it a store.ErrConflict.
func (c *Conflict) Unwrap() error { return store.ErrConflict }

// Journals is the ability of a store to order a log by itself.
type Journals interface {
	// Journal is the one log of the store. It sends no request, and ends with the handle.
	Journal() Journal
}

// NamedJournals is the ability to order any number of logs.
type NamedJournals interface {
	Journals
	// OpenJournal returns a log by its name, and makes it if it is told to. Where there is none: store.ErrNotFound, of
	// the calls of a journal too that was dropped.
	OpenJournal(ctx context.Context, name string, create bool) (Journal, error)
	// DropJournal removes a log with all that is in it. Where there is none it does nothing. See Limits.Lingers.
	DropJournal(ctx context.Context, name string) error
}

// JournalWith is a journal in the same place as the rows.
type JournalWith interface {
	// AppendWith appends a record and creates rows of Once keys, all or nothing. What is light need not survive a power
	// cut that no later record survives.
	AppendWith(ctx context.Context, record []byte, light bool, with []Op) (uint64, error)
}

// JournalValues is a journal with a place for values beside its records, where rows must be few and small. Snapshots
// lie there, and the data of queues.
type JournalValues interface {
	// PutValues keeps values, each of at most Limits.Value bytes, and says where they are. They are worth nothing until
	// a later write names them, so the error is never store.ErrUnknown.
	PutValues(ctx context.Context, values [][]byte) (at []string, err error)
	// Values are those at some places, in their order; nil where one was freed.
	Values(ctx context.Context, at []string) ([][]byte, error)
	// FreeValues frees all whose PutValues returned before that of the one at a place began. An error says only that
	// some may be left.
	FreeValues(ctx context.Context, before string) error
}

// Journal is a log that the store orders by itself, so that writers do not compete for a row. Its indexes grow, need
// not be dense, and are never given twice, whatever is freed.
type Journal interface {
	// Append adds at most Limits.Batch records, all or none, one behind the other, and returns their indexes.
	Append(ctx context.Context, records [][]byte) ([]uint64, error)
	// Read returns at most n records behind after, and leaves none out between them; n may be 0. There is at least one
	// if after is below head and n is not 0, unless it was freed. head is the newest index, also of what was freed, and
	// shows each append that was acknowledged before the call. All below first was freed: it is told exactly where that
	// is why a record is missing, and may be lower elsewhere, down to 0.
	//
	// A head behind one that this handle has seen is store.ErrUnavailable: a deposed leader tells it.
	Read(ctx context.Context, after uint64, n int) (records []store.Record, first, head uint64, err error)
	// Free removes the records up to an index that was appended. What it has removed at any time is the beginning of
	// the log.
	Free(ctx context.Context, upTo uint64) error
	// Start makes an unused journal begin behind an index, as if all up to it was appended and freed. Where it was
	// begun there already, and is unused since, that is as good; else store.ErrConflict.
	Start(ctx context.Context, index uint64) error
	// Watch is Documents.Watch for appends.
	Watch(ctx context.Context, hint func()) error
}
