package leader

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

// minTTL keeps the poll interval above the round trip of a store.
const minTTL = 300 * time.Millisecond

func withDefaults(c protocol.Config) protocol.Config {
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

func validate(c protocol.Config) error {
	var faults []error
	if c.Store == nil {
		faults = append(faults, errors.New("no store"))
	} else if err := (Protocol{}).Fits(c.Store); err != nil {
		faults = append(faults, err)
	}
	if c.TTL < minTTL {
		faults = append(faults, fmt.Errorf("the TTL %s is below %s", c.TTL, minTTL))
	}
	join := cluster.PrepareJoin{
		Member: c.Member, Slots: c.Slots, Weight: c.Weight, Capacity: c.Capacity, Labels: c.Labels, Address: c.Address, Version: c.Version,
		Pulse: protocol.HeartbeatPrefix,
	}
	if err := cluster.CheckCommand(join); err != nil {
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

func params(c protocol.Config, nonce string) Params {
	sessions, ok := c.Store.(store.Sessions)
	_, hints := c.Store.(store.Watcher)
	return Params{
		Member: c.Member,
		Join: Admission{
			Slots: c.Slots, Weight: c.Weight, Capacity: c.Capacity, Labels: c.Labels, Address: c.Address, Version: c.Version,
		},
		Nonce: nonce, TTL: c.TTL, Rho: 50, Margin: c.TTL / 20, Poll: min(c.TTL/20, time.Second), Hold: c.Hold, Offer: 2 * c.TTL,
		SnapshotEvery: c.SnapshotEvery, StandBys: cluster.MaxStandBys, Whole: c.Whole,
		Hints: hints, Vanish: hints && ok && !c.NoSessions && sessions.SessionsExpire(),
	}
}

// newNonce tells starts of processes apart.
func newNonce() string {
	b := make([]byte, 8)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
