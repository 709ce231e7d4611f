package nats

import (
	"context"
	"errors"
	"fmt"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/store"
)

var (
	errReadOnly     = errors.New("the store was opened for reading only")
	errDisconnected = errors.New("the connection to the server broke")
	errTimeout      = errors.New("no answer within the store's timeout")

	// errMoved says that the newest message of a subject is not the expected one: nothing was written.
	errMoved = errors.New("another message is newer")
	// errAbsent says that there is no such message.
	errAbsent = errors.New("no such message")
)

// Codes of the JetStream API that mean something to a driver. All that a publication is answered with and is not here leaves it open whether
// some replica has stored the message.
const (
	codeNotAvailable      = 10008
	codeNoPeers           = 10005
	codeAccountLimits     = 10002
	codeInsufficient      = 10023
	codeNotEnabledAccount = 10039
	codeNoMessage         = 10037
	codeSequenceNotFound  = 10043
	codeNoStorage         = 10047
	codeTooLarge          = 10054
	codeNameExists        = 10058
	codeStreamNotFound    = 10059
	codeWrongStream       = 10060
	codeOverlap           = 10065
	codeWrongSequence     = 10071
	codeNoReplicas        = 10074
	codeNotEnabled        = 10076
	codeHeaderTooLarge    = 10097
	codeSealed            = 10109
	codeWrongSequence2    = 10164
	codeNotReady          = 10163
	codeBadTTL            = 10165
	codeNoTTL             = 10166
	codeNoLimits          = 10120
)

// apiError is an error that the server answered with.
type apiError struct {
	Status      int    `json:"code"`
	Code        int    `json:"err_code"`
	Description string `json:"description"`
}

func (e *apiError) Error() string {
	return fmt.Sprintf("%s (JetStream error %d)", e.Description, e.Code)
}

// publishError gives the server's refusal of a message its meaning.
func publishError(e *apiError) error {
	switch e.Code {
	case codeWrongSequence, codeWrongSequence2:
		return errMoved
	case codeTooLarge, codeHeaderTooLarge:
		return fmt.Errorf("%w: %w", store.ErrTooLarge, e)
	case codeInsufficient, codeNoStorage, codeAccountLimits:
		return fmt.Errorf("%w: no space left for JetStream, give it more or raise the account's limits: %w", store.ErrUnavailable, e)
	case codeNotAvailable, codeNotEnabled, codeNotEnabledAccount, codeNotReady, codeSealed, codeWrongStream, codeBadTTL, codeNoTTL:
		return fmt.Errorf("%w: %w", store.ErrUnavailable, e)
	}
	return fmt.Errorf("%w: %w", store.ErrUnknown, e)
}

// sendError gives an error of a request its meaning. change says that the request would change something.
func sendError(ctx context.Context, err error, change bool) error {
	switch {
	case errors.Is(err, nc.ErrNoResponders):
		return fmt.Errorf("%w: nobody serves this stream at the moment: it has no leader, or JetStream is off", store.ErrUnavailable)
	case errors.Is(err, nc.ErrReconnectBufExceeded):
		return fmt.Errorf("%w: not connected, trying again in the background", store.ErrUnavailable)
	case errors.Is(err, nc.ErrMaxPayload):
		return fmt.Errorf("%w: %w", store.ErrTooLarge, err)
	}
	cause := err
	if ctx.Err() != nil {
		cause = context.Cause(ctx)
	}
	switch {
	case change:
		return fmt.Errorf("%w: %w", store.ErrUnknown, cause)
	case errors.Is(cause, errTimeout), errors.Is(cause, errDisconnected), ctx.Err() == nil:
		return fmt.Errorf("%w: %w", store.ErrUnavailable, cause)
	}
	return cause
}

// unchanged is the error of a call that failed before it sent its change, made of one that was met on the way.
func unchanged(err error) error {
	if !errors.Is(err, store.ErrUnknown) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, preparation{err})
}

// preparation is an error without store.ErrUnknown among what it wraps; the cause that ended a ctx stays.
type preparation struct{ err error }

func (p preparation) Error() string { return p.err.Error() }

// Is and As look at what is wrapped. There is no Unwrap, by which errors.Is would find what is hidden.
func (p preparation) Is(target error) bool {
	return target != store.ErrUnknown && errors.Is(p.err, target)
}

func (p preparation) As(target any) bool { return errors.As(p.err, target) }
