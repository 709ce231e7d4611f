package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Protocol is leader as one of the ways to agree.
type Protocol struct{ fold.Observer[opener] }

var (
	_ protocol.Protocol  = Protocol{}
	_ protocol.Historian = Protocol{}
)

// opener finds the log in the store.
type opener struct{}

func (opener) Log(s protocol.Store) (store.Log, error) { return fold.Full(s, "leader") }

// Name implements protocol.Protocol.
func (Protocol) Name() string { return "leader" }

// Client implements protocol.Protocol.
func (Protocol) Client(s protocol.Store) (protocol.Client, error) {
	full, err := fold.Full(s, "leader")
	if err != nil {
		return nil, err
	}
	return &client{store: full, writer: cluster.WriterID("client-" + shell.Nonce())}, nil
}

// New implements protocol.Protocol.
func (Protocol) New(c protocol.Config) (protocol.Member, error) {
	return shell.New(c, Protocol{}, machine)
}

func machine(c protocol.Config, p member.Params) shell.Machine[State] {
	calls := &Caller{LogCaller: shell.NewLogCaller(c)}
	calls.Tied = Tied(c.Member)
	return shell.Machine[State]{
		Start: NewState(p, Role{Offer: 2 * c.TTL, StandBys: cluster.MaxStandBys, Whole: c.Whole, Audit: true}),
		Step:  Step, Caller: calls, Watched: State.Watching,
	}
}

// client asks the leader to enter commands, without being a member. One goroutine at a time.
type client struct {
	store  store.Full
	writer cluster.WriterID
	seq    uint64
}

// clientPoll is between two looks at a request.
const clientPoll = 50 * time.Millisecond

// Propose writes a request and returns when the leader has answered it.
func (c *client) Propose(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error) {
	c.seq++
	key := planKey(c.writer, c.seq)
	value, err := Encode(planDoc{Writer: c.writer, Seq: c.seq, AtMS: time.Now().UnixMilli(), Commands: commands})
	if err != nil {
		return nil, err
	}
	for written := 0; ; {
		_, err := c.store.Put(ctx, store.Doc{Key: key, Value: value})
		if err != nil && !errors.Is(err, store.ErrUnknown) && !errors.Is(err, store.ErrConflict) {
			return nil, fmt.Errorf("ask the leader: %w", err)
		}
		if err == nil {
			written++
		}
		results, again, err := c.await(ctx, key)
		switch {
		case !again:
			return results, err
		case written > 1:
			return nil, errors.New("ask the leader: the request was removed twice, without an answer; try: rota status")
		}
	}
}

// await waits for the answer. Again: the request is not there, and was never seen.
func (c *client) await(ctx context.Context, key string) (results []cluster.Result, again bool, err error) {
	for {
		d, err := c.store.Get(ctx, key)
		if errors.Is(err, store.ErrNotFound) {
			return nil, true, nil
		}
		if err == nil {
			doc, err := Decode(key, d.Value)
			if err != nil {
				return nil, false, fmt.Errorf("ask the leader: %q: %w", key, err)
			}
			if p, ok := doc.(planDoc); ok && p.Answer != nil {
				_ = c.store.Delete(ctx, key, d.Version) // the leader removes what is left
				if p.Answer.Err != "" {
					return nil, false, fmt.Errorf("ask the leader: %s", p.Answer.Err)
				}
				return p.Answer.Results, false, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, false, fmt.Errorf("ask the leader: outcome unknown: %w", context.Cause(ctx))
		case <-time.After(clientPoll):
		}
	}
}
