package postgres

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rota-run/rota/store"
)

var errStopped = errors.New("the caller gave up")

func answer(severity, code string) error {
	return &pgconn.PgError{Severity: severity, SeverityUnlocalized: severity, Code: code, Message: "said so"}
}

// TestOutcomes: what proves that a change was not made, and what does not.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancelCause(context.Background())
	cancel(errStopped)
	for name, c := range map[string]struct {
		ctx       context.Context
		err, want error
		unknown   bool
	}{
		"the connection broke":           {context.Background(), io.ErrUnexpectedEOF, store.ErrUnknown, true},
		"the caller gave up":             {ended, io.ErrUnexpectedEOF, errStopped, true},
		"never sent":                     {context.Background(), notSent{io.EOF}, store.ErrUnavailable, false},
		"never sent, the caller gave up": {ended, notSent{io.EOF}, errStopped, false},
		"refused, read only":             {context.Background(), answer("ERROR", codeReadOnly), store.ErrUnavailable, false},
		"refused, the disk is full":      {context.Background(), answer("ERROR", codeDiskFull), store.ErrUnavailable, false},
		"refused, somebody has a lock":   {context.Background(), answer("ERROR", "55P03"), store.ErrUnavailable, false},
		"refused, the session is gone": {context.Background(), answer("ERROR", codeForeignKey), store.ErrSession,
			false},
		"refused, the table is gone":    {context.Background(), answer("ERROR", codeNoTable), ErrDamaged, false},
		"refused as the caller gave up": {ended, answer("ERROR", codeCancelled), errStopped, false},
		"the server ended the connection": {context.Background(), answer("FATAL", codeShutdown), store.ErrUnknown,
			true},
		"the server crashed":              {context.Background(), answer("PANIC", codeIO), store.ErrUnknown, true},
		"not let in, so nothing was sent": {context.Background(), notSent{answer("FATAL", codePassword)}, nil, false},
		"no connection left, nothing sent": {context.Background(), notSent{answer("FATAL", codeTooMany)},
			store.ErrUnavailable, false},
		"a standby, so nothing was sent": {context.Background(),
			notSent{serverState{version: oldest, standby: true}.check(Options{})}, errStandby, false},
		"it is a standby, which is no loss": {context.Background(),
			notSent{serverState{version: oldest, standby: true}.check(Options{})}, store.ErrUnavailable, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := writeError(c.ctx, c.err)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || errors.Is(err, store.ErrUnknown) != c.unknown {
				t.Errorf("%v; want %v, unknown %v", err, c.want, c.unknown)
			}
		})
	}
}

func TestServers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		st   serverState
		o    Options
		want string
	}{
		"good":                      {serverState{version: 150018}, Options{}, ""},
		"the oldest":                {serverState{version: oldest}, Options{}, ""},
		"too old":                   {serverState{version: 110022}, Options{}, "the server is PostgreSQL 11.22: at least 12 is needed"},
		"standby":                   {serverState{version: 150018, standby: true, readOnly: true}, Options{ReadOnly: true}, "standby"},
		"read only":                 {serverState{version: 150018, readOnly: true}, Options{}, "default_transaction_read_only"},
		"read only for an observer": {serverState{version: 150018, readOnly: true}, Options{ReadOnly: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.st.check(c.o)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
}

// TestHints: each cause has words of its own for what to try.
func TestHints(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, code := range []string{codePassword, codeAuthorization, codeNoDatabase, codePrivilege, codeTooMany,
		codeStarting, codeReadOnly} {
		hint := answerHint(answer("FATAL", code))
		if hint == "" || seen[hint] != "" {
			t.Errorf("%s: the hint is %q, as that of %q", code, hint, seen[hint])
		}
		seen[hint] = code
	}
}
