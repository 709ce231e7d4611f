package shell

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// minTTL keeps the poll interval above the round trip of a store.
const minTTL = 300 * time.Millisecond

// defaults is a config with all that it leaves out.
func defaults(c protocol.Config) protocol.Config {
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

// check returns why a config cannot be one of a member under a protocol; nil if it can.
func check(c protocol.Config, p protocol.Protocol) error {
	var faults []error
	if c.Store == nil {
		faults = append(faults, errors.New("no store"))
	} else if err := p.Fits(c.Store); err != nil {
		faults = append(faults, err)
	}
	if c.TTL < minTTL {
		faults = append(faults, fmt.Errorf("the TTL %s is below %s", c.TTL, minTTL))
	}
	if c.TTL > heartbeat.MaxTTL {
		faults = append(faults, fmt.Errorf("the TTL %s is above %s: for so long nobody would take the tasks of a dead member", c.TTL, heartbeat.MaxTTL))
	}
	join := join(c)
	join.Heartbeat = protocol.HeartbeatPrefix
	if err := cluster.CheckCommand(join); err != nil {
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// params are those of one start of a member that all protocols share.
func params(c protocol.Config) member.Params {
	return member.Params{
		Member: c.Member, Join: join(c), Restart: c.Restart, SnapshotEvery: c.SnapshotEvery, Nonce: Nonce(),
		Hints: hints(c),
		Timing: heartbeat.Timing{TTL: c.TTL, Longest: min(heartbeat.Slowest*c.TTL, heartbeat.MaxTTL), Rho: 50,
			Margin: c.TTL / 20},
		Poll: min(c.TTL/20, time.Second), Hold: c.Hold,
	}
}

// hints are those of a member's store.
func hints(c protocol.Config) (h member.Hints) {
	_, h.Log = c.Store.(store.LogWatcher)
	_, h.Docs = c.Store.(store.Watcher)
	h.Ends = h.Docs && !c.NoSessions
	sessions, ok := c.Store.(store.Sessions)
	h.Vanish = h.Ends && ok && sessions.SessionsExpire()
	return h
}

// join is what a member says of itself when it joins.
func join(c protocol.Config) cluster.PrepareJoin {
	return cluster.PrepareJoin{
		Member: c.Member, Slots: c.Slots, Weight: c.Weight, Capacity: c.Capacity, Labels: c.Labels, Address: c.Address,
		Version: c.Version,
	}
}

// Nonce distinguishes starts of processes.
func Nonce() string {
	b := make([]byte, 8)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
