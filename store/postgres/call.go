package postgres

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rota-run/rota/internal/wait"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
	"github.com/rota-run/rota/store/internal/remote"
)

// A call that may be repeated is retried if it fails for a temporary reason.
const (
	attempts   = 5
	firstPause = 25 * time.Millisecond // doubled each time
)

// once makes a call once.
func (w *wire) once(ctx context.Context, st statement, args []any) ([]row, error) {
	c, err := w.workers.get(ctx)
	if err != nil {
		return nil, err
	}
	defer w.workers.put(c)
	return c.exec(ctx, st, args...)
}

// change makes a call that changes something. It is made again only where it is proven that nothing was changed: it was
// never sent, or the server has undone it.
func (w *wire) change(ctx context.Context, st statement, args ...any) ([]row, error) {
	within, cancel := context.WithTimeout(ctx, w.options.Timeout)
	defer cancel()
	for attempt := 0; ; attempt++ {
		rows, err := w.once(within, st, args)
		if err == nil {
			return rows, nil
		}
		again := pgconn.SafeToRetry(err) && passing(err) || undone(err)
		if !again || attempt+1 == attempts || !pause(within, firstPause<<attempt) {
			return nil, writeError(ctx, err)
		}
	}
}

// ask makes a call that changes nothing, as often as is sensible. None of its attempts waits longer than the handle's
// timeout for an answer.
func (w *wire) ask(ctx context.Context, st statement, args ...any) ([]row, error) {
	for attempt := 0; ; attempt++ {
		rows, err := w.askOnce(ctx, st, args)
		if err == nil {
			return rows, nil
		}
		if attempt+1 == attempts || !passing(err) || !pause(ctx, firstPause<<attempt) {
			return nil, readError(ctx, err)
		}
	}
}

func (w *wire) askOnce(ctx context.Context, st statement, args []any) ([]row, error) {
	ctx, cancel := context.WithTimeout(ctx, w.options.Timeout)
	defer cancel()
	return w.once(ctx, st, args)
}

// passing reports whether the same call may succeed soon: the server did not answer, or its answer was of this kind.
func passing(err error) bool {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return true
	}
	switch answer.Code {
	case codeStarting, codeShutdown, codeCrashed, codeTooMany, codeNoStatement:
		return true
	}
	return undone(err)
}

// undone reports whether the server has undone a transaction that may succeed when it is made again.
func undone(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && (answer.Code == codeSerialization || answer.Code == codeDeadlock)
}

// pause waits about so long; false if ctx has ended.
func pause(ctx context.Context, about time.Duration) bool {
	return wait.For(ctx, spread(about))
}

// pauseOr waits about so long, or until it is woken, or ctx has ended.
func pauseOr(ctx context.Context, about time.Duration, wake wait.Wake) {
	new(wait.Hints).Or(ctx, spread(about), wake, nil)
}

// spread is about so long.
func spread(about time.Duration) time.Duration { return about/2 + rand.N(about) }

// ErrDamaged marks data that exists but is not what this store wrote. Retrying does not help: restore a backup of the
// database.
var ErrDamaged = errors.New("store is damaged")

// Error codes of the server; see the appendix of its manual.
const (
	codeForeignKey      = "23503"
	codeUnique          = "23505"
	codeDuplicateSchema = "42P06"
	codeDuplicateTable  = "42P07"
	codeReadOnly        = "25006"
	codeNoStatement     = "26000" // a prepared statement is gone: somebody is in between
	codeAuthorization   = "28000"
	codePassword        = "28P01"
	codeNoDatabase      = "3D000"
	codeNoSchema        = "3F000"
	codeSerialization   = "40001"
	codeDeadlock        = "40P01"
	codePrivilege       = "42501"
	codeNoColumn        = "42703"
	codeNoFunction      = "42883"
	codeNoTable         = "42P01"
	codeDiskFull        = "53100"
	codeTooMany         = "53300"
	codeNotPrepared     = "55000"
	codeCancelled       = "57014"
	codeShutdown        = "57P01"
	codeCrashed         = "57P02"
	codeStarting        = "57P03"
	codeIO              = "58030"
)

// dialError says which server did not take us.
type dialError struct {
	host string
	err  error
}

func (e *dialError) Error() string { return e.host + ": " + e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// bare takes what a failed attempt to connect means out of what the client puts around it: user, database, and the
// configuration with the password.
func bare(err error) error {
	if connect, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		err = connect.Unwrap()
	}
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		return answer
	}
	return &oneLine{err}
}

// oneLine is an error whose text is one line.
type oneLine struct{ err error }

func (e *oneLine) Error() string { return strings.Join(strings.Fields(e.err.Error()), " ") }
func (e *oneLine) Unwrap() error { return e.err }

// rank says how far an attempt to connect came: the cause that is shown is that of the server that is nearest to being
// the right one.
func rank(err error) int {
	var answer *pgconn.PgError
	switch {
	case errors.Is(err, errStandby):
		return 1
	case errors.As(err, &answer):
		return 3
	case errors.Is(err, store.ErrUnavailable):
		return 2
	}
	return 0
}

// refused reports whether the server proves by its answer that a change was not made, and gives the answer its meaning.
// An answer of severity ERROR ends and undoes the transaction, and none comes after it is committed. A server that ends
// the connection (FATAL, PANIC) may have committed before.
func refused(err error) (meaning error, proof bool) {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return nil, false
	}
	meaning = meaningOf(answer)
	return meaning, answer.SeverityUnlocalized == "ERROR" || answer.SeverityUnlocalized == "" &&
		answer.Severity == "ERROR"
}

// meaningOf gives an answer of the server its meaning.
func meaningOf(answer *pgconn.PgError) error {
	switch answer.Code {
	case codeForeignKey:
		return fmt.Errorf("%w: it was removed", store.ErrSession)
	case codePrivilege:
		return fmt.Errorf("%w: grant the user what docs/stores/postgres.md says", answer)
	case codeNoTable, codeNoSchema, codeNoFunction:
		return fmt.Errorf("%w: %w: the schema was changed by others", ErrDamaged, answer)
	case codeReadOnly:
		return fmt.Errorf("%w: %w: it may have become a standby", store.ErrUnavailable, answer)
	}
	switch class := answer.Code[:min(2, len(answer.Code))]; class {
	case "08", "40", "53", "55", "57", "58": // connection, rollback, resources, state, operator, system
		return fmt.Errorf("%w: %w", store.ErrUnavailable, answer)
	}
	return answer
}

// writeError gives the error of a change its meaning.
func writeError(ctx context.Context, err error) error {
	if pgconn.SafeToRetry(err) {
		return driver.Because(ctx, unsent(ctx, err))
	}
	if meaning, proof := refused(err); proof {
		return driver.Because(ctx, meaning)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", store.ErrUnknown, context.Cause(ctx))
	}
	return fmt.Errorf("%w: %w", store.ErrUnknown, &oneLine{err})
}

// unsent is the meaning of an error that came before anything was sent.
func unsent(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if meaning, _ := refused(err); meaning != nil {
		return meaning
	}
	if errors.Is(err, store.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, &oneLine{err})
}

// readError gives the error of a call that changes nothing its meaning.
func readError(ctx context.Context, err error) error { return unsent(ctx, err) }

// isCode reports whether the server answered with one of these codes.
func isCode(err error, codes ...string) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && slices.Contains(codes, answer.Code)
}

// openError says what to try.
func openError(ctx context.Context, err error) error {
	return remote.OpenError(ctx, err, "PostgreSQL", cmp.Or(answerHint(err), connectHint(err)))
}

// answerHint is what to try after an answer of the server.
func answerHint(err error) string {
	switch {
	case isCode(err, codePassword):
		return "check user and password"
	case isCode(err, codeAuthorization):
		return "check the user, and the server's pg_hba.conf: it may want TLS, or may not let this address in"
	case isCode(err, codeNoDatabase):
		return "make the database: createdb NAME; or name another one"
	case isCode(err, codePrivilege):
		return "let the user create the schema: GRANT CREATE ON DATABASE d TO u; or create it for the user: CREATE SCHEMA s AUTHORIZATION u"
	case isCode(err, codeTooMany):
		return "the server has no connection left: raise max_connections; a member needs 3"
	case isCode(err, codeStarting):
		return "the server is starting or stopping: try again soon"
	case isCode(err, codeReadOnly):
		return "the server takes no writes: name the primary, or switch off default_transaction_read_only"
	}
	return ""
}

// connectHint is what to try where no server answered.
func connectHint(err error) string {
	var record tls.RecordHeaderError
	if errors.As(err, &record) || remote.Says(err, "unknown message type", "invalid message", "unexpected message",
		"body length", "does not answer like PostgreSQL") {
		return "this is not PostgreSQL: check address and port"
	}
	return remote.ConnectHint(err, "PostgreSQL", "server refused TLS connection")
}
