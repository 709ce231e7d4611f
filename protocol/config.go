package protocol

import (
	"log/slog"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
)

// Store is what every protocol works with. A protocol that needs more of it says so in [Protocol.Fits].
type Store interface {
	store.Store
	store.Docs
}

// Config of one member, under any protocol. Member and Store are required; the zero value of the rest works.
type Config struct {
	Member   cluster.MemberID
	Store    Store
	TTL      time.Duration // how long others wait when this member is silent; default 10 s, at least 300 ms
	Slots    int64
	Weight   int64 // share of the load; 0 means 100
	Capacity int64 // most partitions; 0 means no limit
	Labels   []cluster.Label
	Address  string // where its API listens, for people
	Version  string // of the binary, for people
	// NoSessions uses heartbeat documents alone, also where the store has sessions.
	NoSessions    bool
	Hold          time.Duration // how long grants wait for an announced restart of another member; default 1 min
	Restart       bool          // the leave of this member announces a restart: the others keep its grants for their Hold
	LeaveTimeout  time.Duration // for leaving in order; default TTL
	Whole         bool          // what runs on this member looks at the whole value, also where the protocol would spare it that
	SnapshotEvery uint64        // entries between snapshots, where the protocol keeps a log; default 2000
	// Clock is the clock of Assignment.TrustUntil; default protocol.Now. Only tests set it: under testing/synctest to protocol.NewProcessClock(). All
	// that acts on the assignments must read the same clock.
	Clock  func() Instant
	Logger *slog.Logger // default: discard
	Events Events
	// Guard hears of the sessions that keep this member's heartbeats, for a guardian that ends them when the process has died; nil for none.
	Guard Guard
}

// Guard is told of sessions. A protocol calls it around each session of its heartbeats, and writes State into them: see heartbeat.Text. Its methods may be called from any
// goroutine, and return soon.
type Guard interface {
	// Guard is called before the first document is written with a session; docs are the keys that it will have.
	Guard(s store.Session, docs ...string)
	// Release is called before the member closes a session.
	Release(s store.Session)
	// State is "on", or why there is no guardian.
	State() string
}

// Events are optional callbacks, called one after the other from the member's goroutine; they must return soon.
type Events struct {
	Joined  func(inc cluster.Incarnation)
	Removed func(reason string) // the member found itself removed and will rejoin
	// Changed is called after each change of the value, with the newest one.
	Changed func(v cluster.Value)
	// Did is called before Changed with what this member's own commands did. Each command of a cluster is reported by exactly one member.
	Did func(v cluster.Value, deeds []Deed)
	// Refused tells of a document in the store that is not what it should be, and was left out.
	Refused   func(key, reason string)
	StoreLost func(err error)
	StoreBack func(after time.Duration)
}

// Deed is one command with what it did.
type Deed struct {
	Command cluster.Command
	Result  cluster.Result
	AtMS    int64 // wall clock of the member that proposed it, for people
}

// Applied is an entry of a log with what its commands did.
type Applied struct {
	Entry     cluster.Entry
	Results   []cluster.Result
	Duplicate bool
	Foreign   string // why no member with this history can have written it; see cluster.Applied
}
