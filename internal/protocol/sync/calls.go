package sync

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Caller makes the store calls of one member and turns their answers into events. It decides nothing. The shell has
// one, and so has a simulated member, with a simulated store and clock. Call may be called from any goroutine.
type Caller struct {
	*shell.LogCaller // its log is decoded
	group            store.Group
	log              store.Log

	mu sync.Mutex
	id string       // the newest one in the group
	at store.EndKey // for a guardian: its place there
}

// NewCaller makes the caller of one run of a member. The store of the log caller must have a [store.Group].
func NewCaller(l *shell.LogCaller) *Caller {
	c := &Caller{LogCaller: l, group: l.Store.(store.Group), log: l.Log}
	l.Log = Records{l.Log}
	return c
}

// Timeout is how long the call of an effect may take.
func (c *Caller) Timeout(e member.Effect) time.Duration {
	switch e := e.(type) {
	case JoinGroup: // it waits for the others, as the next one does
		return 2 * cmp.Or(e.Session, c.TTL)
	case SyncGroup:
		return 2 * cmp.Or(e.Session, c.TTL)
	case Beat:
		return cmp.Or(e.Session, c.TTL) / 4
	}
	return c.LogCaller.Timeout(e)
}

// Call makes one store call and returns the event that answers it; nil for effects that are not answered.
func (c *Caller) Call(ctx context.Context, e member.Effect) member.Event {
	switch e := e.(type) {
	case Append:
		return c.append(ctx, e)
	case JoinGroup:
		return c.join(ctx, e)
	case SyncGroup:
		sent := c.Now()
		_, err := c.group.SyncGroup(ctx, e.Seat, nil)
		return Synced{Now: c.Now(), Sent: sent, Answer: answer(err), Err: problem(err)}
	case Beat:
		sent := c.Now()
		err := c.group.Heartbeat(ctx, e.Seat)
		return Beaten{Now: c.Now(), Sent: sent, Answer: answer(err), Err: problem(err)}
	case LeaveGroup:
		return GroupLeft{Now: c.Now(), Err: shell.Text(c.group.LeaveGroup(ctx, e.ID))}
	}
	return c.LogCaller.Call(ctx, e)
}

// Close leaves the group after the member has left or halted. Where the store did not take that, the guardian still
// knows of our place, and gives it up when the process has ended: a dead member in the group holds up the others for
// its session.
func (c *Caller) Close(ctx context.Context) {
	c.mu.Lock()
	id := c.id
	c.mu.Unlock()
	if id == "" {
		return
	}
	if err := c.group.LeaveGroup(ctx, id); err != nil {
		c.Logger.Debug("leave the group", "err", err)
		return
	}
	c.place("")
}

// place notes our place in the group, "" for none, and lets the guardian hear of it.
func (c *Caller) place(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	former := c.id
	if c.id = id; id == former || c.Guard == nil {
		return
	}
	c.Guard.Release(c.at)
	c.at = store.EndKey{}
	if g, ok := c.group.(store.EndableGroup); ok && id != "" {
		c.at = g.EndPlace(id)
	}
	c.Guard.Guard(c.at)
}

// answer is what an error of the group says.
func answer(err error) Answer {
	switch {
	case err == nil:
		return Agreed
	case errors.Is(err, store.ErrRebalance), errors.Is(err, store.ErrGeneration):
		return Again
	case errors.Is(err, store.ErrSession):
		return Outside
	}
	return Failed
}

// problem is the text of an error that says that the store does not answer.
func problem(err error) string {
	if answer(err) == Failed {
		return err.Error()
	}
	return ""
}

func (c *Caller) join(ctx context.Context, e JoinGroup) member.Event {
	about, err := marshal(e.Join)
	if err != nil {
		return Joined{Now: c.Now(), Err: err.Error()}
	}
	r := store.JoinRequest{ID: e.ID, Data: about, Session: e.Session, Rebalance: e.Session,
		Given: func(id string) { c.place(id) }}
	m, err := c.group.JoinGroup(ctx, r)
	for e.ID == "" && errors.Is(err, store.ErrTTL) && r.Session > e.Usual {
		r.Session = max(e.Usual, r.Session/2)
		r.Rebalance = r.Session
		m, err = c.group.JoinGroup(ctx, r)
	}
	if errors.Is(err, store.ErrClosed) {
		return member.Closed{Now: c.Now(), Err: err}
	}
	if m.ID != "" {
		c.place(m.ID)
	}
	out := Joined{Now: c.Now(), ID: m.ID, Session: r.Session, Generation: m.Generation, Leads: m.Leads(),
		Answer: answer(err), Err: problem(err)}
	for _, g := range m.Members {
		out.Members = append(out.Members, companion(g))
	}
	return out
}

// companion reads what a member said of itself. Somebody else may be in the group by mistake.
func companion(g store.GroupMember) Companion {
	var join cluster.PrepareJoin
	if json.Unmarshal(g.Data, &join) == nil {
		join.Heartbeat, join.Replaces = heartbeatOf(g.ID), 0
	}
	return Companion{g.ID, join, reflect.ValueOf(join).IsZero() || cluster.CheckCommand(join) != nil}
}

// heartbeatOf is what the value calls a membership in the group.
func heartbeatOf(id string) string { return "group/" + id }

// append writes a record, and says what a reader makes of it.
func (c *Caller) append(ctx context.Context, e Append) member.Event {
	e.Entry.AtMS = c.Wall().UnixMilli()
	message, err := EncodeRecord(e.Entry, e.Epoch)
	var read cluster.Entry
	if err == nil {
		read, err = DecodeRecord(message)
	}
	if err != nil { // nobody could read it
		return member.Appended{Now: c.Now(), Seq: e.Entry.Seq, Outcome: outbox.Refused, Err: err.Error()}
	}
	index, err := c.log.Append(ctx, message)
	return member.Appended{Now: c.Now(), Seq: e.Entry.Seq, Outcome: outbox.OutcomeOf(err), Index: cluster.Index(index),
		Data: read.Encode(), Err: shell.Text(err)}
}

var _ shell.Caller = (*Caller)(nil)

// Answer is what the group says to a call.
type Answer uint8

// The answers.
const (
	Failed  Answer = iota // nobody knows whether it was done
	Agreed                // done
	Again                 // the group has, or forms, another generation: join with the same ID
	Outside               // the ID is not in the group
)

// Companion is a member of the group, as its leader gets to know it.
type Companion struct {
	ID   string
	Join cluster.PrepareJoin
	Bad  bool // what it said of itself is not what a member says
}

type (
	// Joined answers JoinGroup. The ID may be set also where it failed.
	Joined struct {
		member.Now
		ID         string
		Session    time.Duration // for how long the group keeps that member while it is silent
		Generation uint64
		Leads      bool
		Members    []Companion // sorted by ID; nil for all but the leader
		Answer     Answer
		Err        string
	}
	// Synced answers SyncGroup. Sent is an instant before the call was sent.
	Synced struct {
		member.Now
		Sent   protocol.Instant
		Answer Answer
		Err    string
	}
	// Beaten answers Beat, in the same way.
	Beaten Synced
	// GroupLeft answers LeaveGroup.
	GroupLeft struct {
		member.Now
		Err string
	}
)

type (
	// Append appends an entry as a record of an epoch. Entry.AtMS is stamped when it is sent.
	Append struct {
		member.Call
		Entry cluster.Entry
		Epoch string
	}
	// JoinGroup makes the member one of the next generation; ID is "" for a new one. It lasts until the others have
	// joined.
	JoinGroup struct {
		member.Call
		ID      string
		Join    cluster.PrepareJoin
		Session time.Duration // for how long the group is to keep it while it is silent
		Usual   time.Duration // what is asked for where the group allows no longer Session
	}
	// SyncGroup waits until the generation is a fact.
	SyncGroup struct {
		member.Call
		Seat    store.Seat
		Session time.Duration
	}
	// Beat renews the membership.
	Beat SyncGroup
	// LeaveGroup ends a membership in which the member was removed.
	LeaveGroup struct {
		member.Call
		ID string
	}
)
