package nats

import (
	"context"
	"errors"
	"io"
	"testing"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/store"
)

// TestWhatErrorCodesProve goes through the codes that a server refuses a message with.
func TestWhatErrorCodesProve(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code        int
		alone, many error
	}{
		{codeWrongSequence, errMoved, errMoved},
		{codeWrongSequence2, errMoved, errMoved},
		{codeTooLarge, store.ErrTooLarge, store.ErrTooLarge},
		{codeInsufficient, store.ErrUnavailable, store.ErrUnknown},
		{codeNoStorage, store.ErrUnavailable, store.ErrUnknown},
		{codeNotAvailable, store.ErrUnavailable, store.ErrUnknown},
		{codeSealed, store.ErrUnavailable, store.ErrUnavailable},
		{10077, store.ErrUnknown, store.ErrUnknown}, // the leader could not store it, others may have
		{99999, store.ErrUnknown, store.ErrUnknown},
	} {
		for replicas, want := range map[int]error{1: c.alone, 3: c.many} {
			err := publishError(&apiError{Code: c.code, Description: "wrong last sequence: 7"}, replicas)
			if !errors.Is(err, want) || errors.Is(err, store.ErrUnknown) != errors.Is(want, store.ErrUnknown) {
				t.Errorf("error %d with %d replicas: %v, want %v", c.code, replicas, err, want)
			}
		}
	}
	var moved *movedError
	if err := publishError(&apiError{Code: codeWrongSequence, Description: "wrong last sequence: 7"},
		3); !errors.As(err, &moved) || moved.to != 7 {
		t.Errorf("refusal %v, want one that names 7", err)
	}
}

// TestWhatNoAnswerProves: a change that was sent is unknown, also where its ctx has ended; a look is not.
func TestWhatNoAnswerProves(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	ended, cancel := context.WithCancelCause(context.Background())
	cancel(gone)
	for _, c := range []struct {
		ctx    context.Context
		err    error
		change bool
		want   error
	}{
		{context.Background(), io.EOF, true, store.ErrUnknown},
		{ended, io.EOF, true, store.ErrUnknown},
		{context.Background(), io.EOF, false, store.ErrUnavailable},
		{ended, io.EOF, false, gone},
		{ended, nc.ErrReconnectBufExceeded, true, store.ErrUnavailable}, // it was not sent
		{ended, nc.ErrMaxPayload, true, store.ErrTooLarge},
	} {
		if err := sendError(c.ctx, c.err, c.change); !errors.Is(err, c.want) ||
			errors.Is(err, store.ErrUnknown) != errors.Is(c.want, store.ErrUnknown) {
			t.Errorf("%v of a change %v: %v, want %v", c.err, c.change, err, c.want)
		}
	}
}

// TestMessages: what is deleted, and what the server leaves where something was, is no row; a page ends with its last
// message.
func TestMessages(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]message{ // order-free: each is judged alone
		"nothing": {}, "deleted": {seq: 1, header: nc.Header{headerOperation: {"PURGE"}}},
		"expired": {seq: 1, header: nc.Header{headerReason: {"MaxAge"}}},
	} {
		if !m.marker() {
			t.Errorf("%s is a row", name)
		}
	}
	if (message{seq: 1}).marker() {
		t.Error("a row is none")
	}
	for last, want := range map[string]error{"7": nil, "8": errBatch} { // order-free: each is judged alone
		end := &nc.Msg{Header: nc.Header{"Nats-Num-Pending": {"3"}, "Nats-Last-Sequence": {last}}}
		if left, err := endOf([]message{{seq: 7}}, end); !errors.Is(err, want) || err == nil && left != 3 {
			t.Errorf("a page up to %s with message 7: %d are left, %v", last, left, err)
		}
	}
}
