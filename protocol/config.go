package protocol

import (
	"log/slog"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
)

// Store is what every protocol needs. A protocol with further needs checks them in [Protocol.Fits].
type Store interface {
	store.Store
	store.Docs
}

// Config of one member, under any protocol. Member and Store are required; the zero value of the rest works.
type Config struct {
	Member   cluster.MemberID
	Store    Store
	TTL      time.Duration // how long others wait while this member is silent; default 10 s, at least 300 ms
	Slots    int64
	Weight   int64 // share of the load; 0 means 100
	Capacity int64 // most partitions that it takes; 0 means no limit
	Labels   []cluster.Label
	Address  string // address of its API, for people
	Version  string // of the binary, for people
	// NoSessions uses only heartbeat documents, even if the store has sessions.
	NoSessions    bool
	Hold          time.Duration // how long grants wait for an announced restart of another member; default 1 min
	Restart       bool          // the leave of this member announces a restart: the others keep its grants for their Hold
	LeaveTimeout  time.Duration // limit of a graceful leave; default TTL
	Whole         bool          // this member needs the whole value, even if the protocol could do without it
	SnapshotEvery uint64        // entries between snapshots, if the protocol keeps a log; default 2000
	// Clock is the clock of Assignment.ValidUntil; default protocol.Now. Only tests set it: under testing/synctest to
	// protocol.NewProcessClock(). Everything that acts on the assignments must read the same clock.
	Clock  func() Instant
	Logger *slog.Logger // default: discard
	Events Events
	// Guard is notified of this member's heartbeats, for a guardian that ends them after the death of the process; nil
	// for none.
	Guard Guard
}

// Guard is notified of what is to end with the process. A protocol calls it around each life of its heartbeats, and
// writes State into them: see heartbeat.Text. Its methods may be called from any goroutine, return quickly, and do
// nothing with a key that is zero.
type Guard interface {
	// Guard is called before the first document is written.
	Guard(k store.EndKey)
	// Release is called when the member has ended it by itself, and the store has taken that.
	Release(k store.EndKey)
	// State is "on", or the reason why there is no guardian.
	State() string
}

// Events are optional callbacks, called one after the other from the member's goroutine; they must return quickly.
type Events struct {
	Joined  func(inc cluster.Incarnation)
	Removed func(reason string) // the member was removed by others and will rejoin
	// Changed is called after each change of the value, with the newest one.
	Changed func(v cluster.Value)
	// Did is called before Changed with the results of this member's own commands. Each command of a cluster is
	// reported by exactly one member.
	Did func(v cluster.Value, deeds []Deed)
	// Refused reports a document of the store that is invalid and was ignored.
	Refused   func(key, reason string)
	StoreLost func(err error)
	StoreBack func(after time.Duration)
}

// Deed is one command with its result.
type Deed struct {
	Command cluster.Command
	Result  cluster.Result
	AtMS    int64 // wall clock of the member that proposed it, for people
	// Index is that of its entry; 0 under a protocol without a log.
	Index cluster.Index
}

// Applied is an entry of a log with the results of its commands.
type Applied struct {
	Entry     cluster.Entry
	Results   []cluster.Result
	Duplicate bool
	Foreign   string // why no member with this history can have written it; see cluster.Applied
}
