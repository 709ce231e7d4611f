package sync

import (
	"context"
	"errors"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Protocol is sync as one of the ways to agree.
type Protocol struct{ fold.Observer[opener] }

var (
	_ protocol.Protocol  = Protocol{}
	_ protocol.Historian = Protocol{}
)

var (
	errNoLog   = errors.New("the protocol sync needs a store with a log: kafka has one")
	errNoGroup = errors.New("the protocol sync needs a store with groups, and kafka alone has them: try --protocol replica on this store")
)

// Name implements protocol.Protocol.
func (Protocol) Name() string { return "sync" }

// Fits implements protocol.Protocol: the store needs a group, and a log. Without a group its log can be read all the
// same, as a copy of a cluster is.
func (p Protocol) Fits(s protocol.Store) error {
	if _, ok := s.(store.Group); !ok {
		return errNoGroup
	}
	return p.Observer.Fits(s)
}

// New implements protocol.Protocol.
func (Protocol) New(c protocol.Config) (protocol.Member, error) {
	return shell.New(c, Protocol{}, machine)
}

// opener finds the sync topic in the store, decoded.
type opener struct{}

func (opener) Log(s protocol.Store) (store.Log, error) {
	log, ok := s.(store.Full)
	if !ok {
		return nil, errNoLog
	}
	return Records{log}, nil
}

// Client implements protocol.Protocol. Before a cluster has its first member, its client also chooses the placement,
// which says what jobs can run.
func (Protocol) Client(s protocol.Store) (protocol.Client, error) {
	log, err := opener{}.Log(s)
	if err != nil {
		return nil, err
	}
	return &fold.Client{Log: log, Encode: encodeReadable, First: chosen}, nil
}

func chosen(v cluster.Value) []cluster.Command {
	if v.Settings().Placement != cluster.PlacementPlanned {
		return nil
	}
	return []cluster.Command{cluster.Place{Placement: cluster.PlacementShared}}
}

// encodeReadable encodes an entry as a record of the present epoch. It refuses one that cannot be read back.
func encodeReadable(v cluster.Value, e cluster.Entry) ([]byte, error) {
	message, err := EncodeRecord(e, epochOf(v))
	if err != nil {
		return nil, err
	}
	_, err = DecodeRecord(message)
	return message, err
}

func machine(c protocol.Config, p member.Params) shell.Machine[State] {
	p.Longest = min(longest*c.TTL, p.Longest)
	return shell.Machine[State]{
		Start: NewState(p), Step: Step, Caller: NewCaller(shell.NewLogCaller(c)),
		Watched: func(State) ([]string, bool) { return nil, true },
	}
}

// Records is the sync topic as a log of entries, for those who read it: each message is decoded. What is no record is
// no entry either.
type Records struct{ store.Log }

// Read implements store.Log.
func (r Records) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	page, err := r.Log.Read(ctx, after, limit)
	decoded := make([]store.Record, len(page.Records))
	for i, rec := range page.Records {
		decoded[i] = store.Record{Index: rec.Index, Data: Binary(rec.Data)}
	}
	page.Records = decoded
	return page, err
}

// Binary is the entry of a message, as package cluster encodes it; for what is no record, bytes that are no entry.
func Binary(message []byte) []byte {
	e, err := DecodeRecord(message)
	if other, ok := errors.AsType[*cluster.FormatError](err); ok {
		return other.Entry()
	}
	if err != nil {
		return append([]byte{0}, message...)
	}
	return e.Encode()
}

// epochOf is the present epoch, for people.
func epochOf(v cluster.Value) string {
	e, ok := v.Epoch()
	if !ok {
		return "none"
	}
	return e.String() + "/" + string(e.Leader)
}
