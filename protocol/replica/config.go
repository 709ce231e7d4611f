package replica

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Store is what replica needs of a store; Watcher, LogWatcher and Sessions are used where the store has them.
type Store interface {
	store.Store
	store.Docs
	store.Log
}

// Config of one member.
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
	Hold          time.Duration // how long grants wait for an announced restart; default 1 min
	LeaveTimeout  time.Duration // for leaving in order; default TTL
	SnapshotEvery uint64        // entries between snapshots; default 2000
	// Clock is the clock of Assignment.TrustUntil; default protocol.Now. Only tests set it: under testing/synctest to protocol.NewProcessClock(). All
	// that acts on the assignments must read the same clock.
	Clock  func() protocol.Instant
	Logger *slog.Logger // default: discard
	Events Events
}

// Events are optional callbacks, called one after the other from the member's goroutine; they must return soon.
type Events struct {
	Joined  func(inc cluster.Incarnation)
	Removed func(reason string) // it found itself removed and will join anew
	// Applied is called after each batch of entries; without entries after a jump to a snapshot.
	Applied   func(v cluster.Value, entries []Applied)
	StoreLost func(err error)
	StoreBack func(after time.Duration)
}

// Applied is an entry with what its commands did.
type Applied struct {
	Entry     cluster.Entry
	Results   []cluster.Result
	Duplicate bool
}

// minTTL keeps the poll interval above the round trip of a store.
const minTTL = 300 * time.Millisecond

func (c Config) withDefaults() Config {
	c.TTL = cmp.Or(c.TTL, 10*time.Second)
	c.Hold = cmp.Or(c.Hold, time.Minute)
	c.LeaveTimeout = cmp.Or(c.LeaveTimeout, c.TTL)
	c.SnapshotEvery = cmp.Or(c.SnapshotEvery, 2000)
	if c.Clock == nil {
		c.Clock = protocol.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func (c Config) validate() error {
	var faults []error
	if c.Store == nil {
		faults = append(faults, errors.New("no store"))
	}
	if c.TTL < minTTL {
		faults = append(faults, fmt.Errorf("the TTL %s is below %s", c.TTL, minTTL))
	}
	join := c.params("check").Join
	join.Pulse = PulsePrefix
	if err := cluster.CheckCommand(join); err != nil {
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

func (c Config) params(nonce string) Params {
	p := Params{
		Join: cluster.PrepareJoin{
			Member: c.Member, Slots: c.Slots, Weight: c.Weight, Capacity: c.Capacity,
			Labels: c.Labels, Address: c.Address, Version: c.Version,
		},
		Nonce: nonce, TTL: c.TTL, Rho: 50, Margin: c.TTL / 20, Poll: min(c.TTL/20, time.Second), Hold: c.Hold, SnapshotEvery: c.SnapshotEvery,
	}
	_, log := c.Store.(store.LogWatcher)
	_, docs := c.Store.(store.Watcher)
	sessions, ok := c.Store.(store.Sessions)
	return p.Told(log, docs && !c.NoSessions, ok && !c.NoSessions && sessions.SessionsExpire())
}

// newNonce tells starts of processes apart.
func newNonce() string {
	b := make([]byte, 8)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
