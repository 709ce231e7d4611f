package nats

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/store"
)

// swap writes a message if the newest one of its subject has the sequence expected, 0 for none; else it returns errMoved.
func (w *wire) swap(ctx context.Context, subject string, expected uint64, h nc.Header, data []byte) (uint64, error) {
	m := &nc.Msg{Subject: subject, Header: nc.Header{headerExpect: {strconv.FormatUint(expected, 10)}}, Data: data}
	maps.Copy(m.Header, h)
	if w.replicas == 1 {
		return w.publish(ctx, w.names.docs(), m)
	}
	write := w.newID()
	m.Header[headerWrite] = []string{write}
	line := w.line.current()
	seq, err := w.publish(ctx, w.names.docs(), m)
	if !errors.Is(err, errMoved) {
		return seq, err
	}
	return w.refused(ctx, line, subject, expected, write, err)
}

// refused finds out what the refusal of a write means in a cluster. A leader that was replaced without having noticed still gets each write, and
// refuses it by what it has, while the leader that took its place may do it; whose answer comes first is chance. So refused reads the newest
// message and has it confirmed: requests of one connection keep their order, so by then the true leader has decided.
func (w *wire) refused(ctx, line context.Context, subject string, expected uint64, write string, refusal error) (uint64, error) {
	m, err := w.current(ctx, subject)
	if err != nil {
		return 0, fmt.Errorf("%w: a leader refused it, and none confirmed that: %w", store.ErrUnknown, err)
	}
	return judge(m, write, expected, line.Err() != nil, refusal)
}

// judge decides what the refusal of a write means, given the newest message. broken says that the connection broke after the write was sent.
func judge(m message, write string, expected uint64, broken bool, refusal error) (uint64, error) {
	switch {
	case m.header.Get(headerWrite) == write:
		return m.seq, nil
	case broken:
		return 0, fmt.Errorf("%w: a leader refused it, then %w", store.ErrUnknown, errDisconnected)
	}
	var moved *movedError
	old := errors.As(refusal, &moved) && 0 < moved.to && moved.to < expected // it did not know yet what the caller has seen
	if old && m.seq > expected && m.header.Get(headerExpect) != strconv.FormatUint(expected, 10) {
		return 0, fmt.Errorf("%w: a leader that was replaced refused it, and others have written since", store.ErrUnknown)
	}
	return 0, refusal
}
