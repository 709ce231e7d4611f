package nats

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"strings"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
	"github.com/rota-run/rota/store/internal/remote"
)

var (
	errDisconnected = errors.New("the connection to the server broke")
	errNotConnected = errors.New("not connected, trying again in the background")
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

// movedError is an errMoved by a leader that names the sequence of its newest message; 0: it does not, or there is
// none.
type movedError struct{ to uint64 }

func (e *movedError) Error() string     { return fmt.Sprintf("%v: its sequence is %d", errMoved, e.to) }
func (e *movedError) Is(err error) bool { return err == errMoved }

// publishError gives the server's refusal of a message its meaning. Where there are replicas, the refusal may come from
// a leader that was replaced and has not noticed, while another one does what was asked; then only what holds for all
// of them is a proof.
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
		return fmt.Errorf("%w: no server serves this stream at the moment: it has no leader, was removed, or JetStream is off",
			store.ErrUnavailable)
	case errors.Is(err, nc.ErrReconnectBufExceeded):
		return fmt.Errorf("%w: %w", store.ErrUnavailable, errNotConnected)
	case errors.Is(err, errNotConnected):
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
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
	case errors.Is(cause, errTimeout), errors.Is(cause, errDisconnected), ctx.Err() == nil,
		errors.Is(cause, nc.ErrPermissionViolation):
		return fmt.Errorf("%w: %w", store.ErrUnavailable, cause)
	}
	return cause
}

// oldest is the first server that keeps what it acknowledged: earlier ones could lose writes after a crash, or come
// back without a stream.
var oldest = [3]int{2, 12, 3}

// checkServerVersion refuses servers that are known to lose data.
func checkServerVersion(text string) error {
	number, _, _ := strings.Cut(text, "-")
	var have [3]int
	parts := strings.Split(number, ".")
	for i := 0; i < len(parts) && i < len(have); i++ {
		n, err := strconv.Atoi(parts[i])
		if err != nil {
			return fmt.Errorf("the server calls its version %.40q, which cannot be compared with 2.12.3", text)
		}
		have[i] = n
	}
	for i, n := range have {
		if n != oldest[i] {
			if n > oldest[i] {
				return nil
			}
			return fmt.Errorf("the server has version %s, which can lose writes that it acknowledged: use 2.12.3 or later", text)
		}
	}
	return nil
}

// describeConnect says what an error of the connection means, and what to try.
func describeConnect(err error) error {
	var record tls.RecordHeaderError
	text, hint := err.Error(), remote.CertificateHint(err)
	switch {
	case hint != "":
		return fmt.Errorf("%w: %w (%s)", store.ErrUnavailable, err, hint)
	case strings.Contains(text, "closed by remote after TLS handshake"):
		return fmt.Errorf("%w: %w (if the server wants a certificate of the client, give one that it trusts)",
			store.ErrUnavailable, err)
	case errors.Is(err, nc.ErrAuthorization), errors.Is(err, nc.ErrAuthExpired), errors.Is(err, nc.ErrAuthRevoked),
		errors.Is(err, nc.ErrAccountAuthExpired):
		return fmt.Errorf("the server refuses the user (give the right user and password, token or credentials file): %w", err)
	case errors.Is(err, nc.ErrSecureConnRequired):
		return fmt.Errorf("the server takes TLS connections only (give tls:// as scheme): %w", err)
	case errors.Is(err, nc.ErrSecureConnWanted), errors.As(err, &record):
		return fmt.Errorf("the server does not speak TLS (give nats:// as scheme): %w", err)
	case errors.Is(err, nc.ErrNoServers):
		return fmt.Errorf("%w: nobody listens there (is nats-server running, is the port right? the default is 4222): %w", store.ErrUnavailable, err)
	case errors.Is(err, nc.ErrNoInfoReceived), strings.Contains(text, "expected"), strings.Contains(text, "EOF"),
		strings.Contains(text, "Protocol"):
		return fmt.Errorf("what listens there is not a NATS server (is the port right? clients use 4222, not 8222 or 6222): %w", err)
	case errors.Is(err, nc.ErrTimeout), strings.Contains(text, "timeout"):
		return fmt.Errorf("%w: the server does not answer in time: it is away or overloaded, or it is not a NATS server: %w", store.ErrUnavailable, err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// describeStore says what an error of the first calls means, and what to try.
func describeStore(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(cause, nc.ErrPermissionViolation) {
		return fmt.Errorf("the user may not do what a member does (the guide of this store lists the permissions): %w",
			cause)
	}
	var refused *apiError
	if !errors.As(err, &refused) {
		return driver.NotDone(err)
	}
	switch refused.Code {
	case codeNotEnabled, codeNotEnabledAccount:
		return fmt.Errorf("JetStream is not enabled (start the server with -js; in a server with accounts enable it for this account): %w", err)
	case codeInsufficient, codeNoStorage, codeAccountLimits, codeNoLimits:
		return fmt.Errorf("%w: JetStream has no space for the store (raise max_file of the server, or the account's limits): %w", store.ErrUnavailable, err)
	case codeNoReplicas:
		return fmt.Errorf("the server is no cluster (give 1 replica): %w", err)
	case codeNoPeers:
		return fmt.Errorf("%w: too few nodes of the cluster are there (start them, or give fewer replicas): %w",
			store.ErrUnavailable, err)
	case codeNotAvailable:
		return fmt.Errorf("%w: the cluster has no leader at the moment (are most of its nodes running?): %w",
			store.ErrUnavailable, err)
	case codeOverlap:
		return fmt.Errorf("another stream takes the subjects of this bucket (give another bucket): %w", err)
	}
	return err
}
