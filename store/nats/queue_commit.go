package nats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/flow"
	"github.com/rota-run/rota/store"
)

// together is how many units of a call are written at once.
const together = 64

// Commit implements store.Queue. The units of a call are written in parallel, each in the order of flow.Commit: there are no transactions. A unit with several
// inputs is not possible here.
func (s *queues) Commit(ctx context.Context, name string, units ...store.Unit) ([]bool, error) {
	fresh, err := s.commitAll(ctx, name, units)
	if err != nil {
		return nil, fmt.Errorf("commit to flow %q: %w", name, s.gone(ctx, name, err))
	}
	return fresh, nil
}

func (s *queues) commitAll(ctx context.Context, name string, units []store.Unit) ([]bool, error) {
	for i := range units {
		if err := s.checkUnit(&units[i]); err != nil {
			return nil, err
		}
	}
	if err := s.enterChange(ctx); err != nil {
		return nil, err
	}
	for i := range units {
		if err := s.checkShards(ctx, name, &units[i]); err != nil {
			return nil, err
		}
	}
	fresh, errs := make([]bool, len(units)), make([]error, len(units))
	var wg sync.WaitGroup
	room := make(chan struct{}, together)
	for i := range units {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			c := commitment{store: s, flow: name, unit: units[i]}
			fresh[i], errs[i] = c.run(ctx)
		})
	}
	wg.Wait()
	return fresh, errors.Join(errs...)
}

func (s *queues) checkUnit(u *store.Unit) error {
	if err := store.CheckUnit(*u); err != nil {
		return err
	}
	if len(u.Inputs) > 1 {
		return fmt.Errorf("a unit of %d inputs: %w on NATS, where each input is a unit", len(u.Inputs), errors.ErrUnsupported)
	}
	size := 0
	for i := range u.Outputs {
		size += len(u.Outputs[i].Data)
	}
	if most := s.most(); size > most {
		return fmt.Errorf("%d bytes of output, at most %d (the server's max_payload): %w", size, most, store.ErrTooLarge)
	}
	return nil
}

// checkShards refuses what the flow does not have, and what would come after a seal, as far as that can be seen: between this look and the write
// somebody may seal.
func (s *queues) checkShards(ctx context.Context, name string, u *store.Unit) error {
	for i := range u.Inputs {
		if err := s.checkShard(ctx, name, u.Inputs[i].Shard); err != nil {
			return err
		}
	}
	for i := range u.Outputs {
		if err := s.checkShard(ctx, name, u.Outputs[i].Shard); err != nil {
			return err
		}
		if u.Steady || u.Outputs[i].Seal || slices.ContainsFunc(u.Outputs[:i], func(p store.Put) bool { return !p.Seal && p.Shard == u.Outputs[i].Shard }) {
			continue
		}
		seal, err := s.lastOf(ctx, name, u.Outputs[i].Shard, s.names.sealOf(name, u.Outputs[i].Shard))
		if err != nil {
			return err
		}
		if seal > 0 && !s.recorded(ctx, name, u) {
			return fmt.Errorf("shard %d of %s: %w", u.Outputs[i].Shard.Number, u.Outputs[i].Shard.Edge, store.ErrSealed)
		}
	}
	return nil
}

func (s *queues) recorded(ctx context.Context, name string, u *store.Unit) bool {
	_, err := s.fetch(ctx, s.names.records(name), getRequest{LastBy: s.names.record(name, token(u))})
	return err == nil
}

// token names a unit in subjects.
func token(u *store.Unit) string {
	if u.Name != "" {
		return "n" + hashed(u.Name)
	}
	in := &u.Inputs[0]
	return hashed(in.Shard.Edge) + "-" + strconv.Itoa(in.Shard.Number) + "-" + strconv.FormatUint(in.Number, 10)
}

// commitment is the commit of one unit.
type commitment struct {
	store *queues
	flow  string
	unit  store.Unit
	early []written // the outputs up to here
}

// written is what became of an output.
type written struct {
	answer flow.Answer
	err    error
}

func (c *commitment) run(ctx context.Context) (fresh bool, err error) {
	state, write := flow.NewCommit(len(c.unit.Outputs), c.unit.Steady)
	for output := 0; write != flow.Committed; {
		answer, err := c.do(ctx, write, output)
		if err != nil {
			return false, err
		}
		state, write, output = state.Step(answer, len(c.unit.Outputs))
	}
	return state.Fresh(), nil
}

func (c *commitment) do(ctx context.Context, w flow.Write, output int) (flow.Answer, error) {
	switch w {
	case flow.Record:
		data, err := encodeOutputs(c.unit.Outputs)
		if err != nil {
			return 0, err
		}
		stream, subject := c.store.names.records(c.flow), c.store.names.record(c.flow, token(&c.unit))
		return c.store.putOnce(ctx, stream, &nc.Msg{Subject: subject, Data: data})
	case flow.ReadRecord:
		m, err := c.store.fetch(ctx, c.store.names.records(c.flow), getRequest{LastBy: c.store.names.record(c.flow, token(&c.unit))})
		if err != nil {
			return 0, err
		}
		c.unit.Outputs, err = decodeOutputs(m.data)
		return flow.Stored, err
	case flow.Output:
		if output >= len(c.early) {
			c.outputs(ctx)
		}
		return c.early[output].answer, c.early[output].err
	}
	return flow.Stored, c.acknowledge()
}

// outputs writes the next outputs: messages at the same time, as it makes no difference in which order they are stored; a seal and the last output, which
// may be a position or a state, when all before them are.
func (c *commitment) outputs(ctx context.Context) {
	from, n := len(c.early), 1
	for ; from+n < len(c.unit.Outputs)-1 && n < together && !c.unit.Outputs[from].Seal && !c.unit.Outputs[from+n].Seal; n++ {
	}
	c.early = append(c.early, make([]written, n)...)
	var wg sync.WaitGroup
	for i := from; i < from+n; i++ {
		wg.Go(func() { c.early[i].answer, c.early[i].err = c.output(ctx, &c.unit.Outputs[i], i) })
	}
	wg.Wait()
}

// output stores a message under a name that its unit and its place give it, or the seal of a shard, which has one name.
func (c *commitment) output(ctx context.Context, p *store.Put, place int) (flow.Answer, error) {
	m := &nc.Msg{Subject: c.store.names.sealOf(c.flow, p.Shard)}
	if !p.Seal {
		m.Subject = c.store.names.shardSubject(c.flow, p.Shard) + ".m." + token(&c.unit) + "." + strconv.Itoa(place)
		m.Header = nc.Header{headerSegments: {strconv.Itoa(p.Segments)}}
		m.Data = p.Data
	}
	if c.unit.Unsealed && !p.Seal {
		return c.store.putUnsealed(ctx, c.flow, p.Shard, m)
	}
	return c.store.putOnce(ctx, c.store.names.shard(c.flow, p.Shard), m)
}

// acknowledge tells the server that the input is done. It is not waited for: where it gets lost, the message is delivered again, and the unit is
// found to be a fact.
func (c *commitment) acknowledge() error {
	for i := range c.unit.Inputs {
		c.store.release(c.unit.Inputs[i].Receipt)
		if err := c.store.conn.PublishMsg(&nc.Msg{Subject: c.unit.Inputs[i].Receipt, Data: answerAck}); err != nil {
			return fmt.Errorf("%w: acknowledge: %w", store.ErrUnknown, err)
		}
	}
	return nil
}

// putOnce writes a message unless its subject has one.
func (s *queues) putOnce(ctx context.Context, stream string, m *nc.Msg) (flow.Answer, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if m.Header == nil {
		m.Header = nc.Header{}
	}
	m.Header[headerExpect] = []string{"0"}
	for {
		_, err := s.publish(ctx, stream, m)
		if !errors.Is(err, errMoved) {
			return flow.Stored, err
		}
		if s.replicas == 1 {
			return flow.Exists, nil
		}
		err = s.confirmThere(ctx, stream, m.Subject)
		if !errors.Is(err, errAbsent) { // else it was refused because of one that is still under way, and may come to nothing
			return flow.Exists, err
		}
	}
}

// confirmThere makes sure that the message of a subject is there for good: a leader that was replaced may have one that no other has. A small message
// is written that only the true leader can get stored, and only if the one that was seen is the newest of its subject.
func (s *queues) confirmThere(ctx context.Context, stream, subject string) error {
	for {
		m, err := s.fetch(ctx, stream, getRequest{LastBy: subject})
		if err == nil {
			h := nc.Header{headerExpectSubject: {subject}, "Nats-Rollup": {"sub"}}
			h[headerExpect] = []string{strconv.FormatUint(m.seq, 10)}
			_, err = s.publish(ctx, stream, &nc.Msg{Subject: checkSubject(subject), Header: h})
		}
		switch {
		case err == nil, errors.Is(err, errAbsent):
			return err
		case errors.Is(err, errMoved): // or others confirm it at this moment
		default:
			return fmt.Errorf("%w: confirm what is there: %w", store.ErrUnknown, err)
		}
	}
}
