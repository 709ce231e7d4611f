package nats

import (
	"errors"
	"testing"

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
	if err := publishError(&apiError{Code: codeWrongSequence, Description: "wrong last sequence: 7"}, 3); !errors.As(err, &moved) || moved.to != 7 {
		t.Errorf("refusal %v, want one that names 7", err)
	}
}
