package nats

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strconv"
	"strings"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// oldest is the first server that keeps what it acknowledged: earlier ones could lose writes after a crash, or come back without a stream.
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
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var record tls.RecordHeaderError
	text := err.Error()
	switch {
	case errors.Is(err, nc.ErrAuthorization), errors.Is(err, nc.ErrAuthExpired), errors.Is(err, nc.ErrAuthRevoked), errors.Is(err, nc.ErrAccountAuthExpired):
		return fmt.Errorf("the server refuses the user (give the right user and password, token or credentials file): %w", err)
	case errors.As(err, &unknown), errors.As(err, &host):
		return fmt.Errorf("the server's certificate is not trusted (give its authority's certificate, and the name in it): %w", err)
	case errors.Is(err, nc.ErrSecureConnRequired):
		return fmt.Errorf("the server takes TLS connections only (give tls:// as scheme): %w", err)
	case errors.Is(err, nc.ErrSecureConnWanted), errors.As(err, &record):
		return fmt.Errorf("the server does not speak TLS (give nats:// as scheme): %w", err)
	case errors.Is(err, nc.ErrNoServers):
		return fmt.Errorf("%w: nobody listens there (is nats-server running, is the port right? the default is 4222): %w", store.ErrUnavailable, err)
	case errors.Is(err, nc.ErrNoInfoReceived), strings.Contains(text, "expected"), strings.Contains(text, "EOF"), strings.Contains(text, "Protocol"):
		return fmt.Errorf("what listens there is not a NATS server (is the port right? clients use 4222, not 8222 or 6222): %w", err)
	case errors.Is(err, nc.ErrTimeout), strings.Contains(text, "timeout"):
		return fmt.Errorf("%w: the server does not answer in time: it is away or overloaded, or it is not a NATS server: %w", store.ErrUnavailable, err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// describeStore says what an error of the first calls means, and what to try.
func describeStore(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(cause, nc.ErrPermissionViolation) {
		return fmt.Errorf("the user may not do what a member does (the guide of this store lists the permissions): %w", cause)
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
		return fmt.Errorf("%w: too few nodes of the cluster are there (start them, or give fewer replicas): %w", store.ErrUnavailable, err)
	case codeNotAvailable:
		return fmt.Errorf("%w: the cluster has no leader at the moment (are most of its nodes running?): %w", store.ErrUnavailable, err)
	case codeOverlap:
		return fmt.Errorf("another stream takes the subjects of this bucket (give another bucket): %w", err)
	}
	return err
}
