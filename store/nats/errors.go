package nats

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/store"
)

var (
	errDisconnected = errors.New("the connection to the server broke")
	errTimeout      = errors.New("no answer within the store's timeout")

	// errMoved says that the newest message of a subject is not the expected one: nothing was written.
	errMoved = errors.New("another message is newer")
	// errAbsent says that there is no such message.
	errAbsent = errors.New("no such message")
)

// Codes of the JetStream API that matter to a driver. After any other error of a publication it is unknown whether
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

// movedError is an errMoved by a leader that names the sequence of its newest message; 0: it does not, or there is none.
type movedError struct{ to uint64 }

func (e *movedError) Error() string     { return fmt.Sprintf("%v: its sequence is %d", errMoved, e.to) }
func (e *movedError) Is(err error) bool { return err == errMoved }

// publishError gives the server's refusal of a message its meaning. Where there are replicas, the refusal may come from a leader that was replaced
// and has not noticed, while another one does what was asked; then only what holds for all of them is a proof.
func publishError(e *apiError, replicas int) error {
	switch e.Code {
	case codeWrongSequence, codeWrongSequence2:
		to := uint64(0)
		if at := strings.LastIndexByte(e.Description, ' '); at >= 0 {
			to, _ = strconv.ParseUint(e.Description[at+1:], 10, 64) // 0 where it says no number
		}
		return &movedError{to}
	case codeTooLarge, codeHeaderTooLarge:
		return fmt.Errorf("%w: %w", store.ErrTooLarge, e)
	case codeBadTTL, codeNoTTL, codeWrongStream, codeSealed:
		return fmt.Errorf("%w: %w", store.ErrUnavailable, e)
	}
	outcome := store.ErrUnknown
	switch e.Code {
	case codeInsufficient, codeNoStorage, codeAccountLimits:
		if replicas == 1 {
			outcome = store.ErrUnavailable
		}
		return fmt.Errorf("%w: no space left for JetStream, give it more or raise the account's limits: %w", outcome, e)
	case codeNotAvailable, codeNotEnabled, codeNotEnabledAccount, codeNotReady:
		if replicas == 1 {
			outcome = store.ErrUnavailable
		}
	}
	return fmt.Errorf("%w: %w", outcome, e)
}

// sendError gives an error of a request its meaning. change says that the request would change something.
func sendError(ctx context.Context, err error, change bool) error {
	switch {
	case errors.Is(err, nc.ErrNoResponders):
		return fmt.Errorf("%w: no server serves this stream at the moment: it has no leader, or JetStream is off", store.ErrUnavailable)
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
