package postgres

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rota-run/rota/store/internal/remote"
)

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
	if errors.As(err, &record) || remote.Says(err, "unknown message type", "invalid message", "unexpected message", "body length", "does not answer like PostgreSQL") {
		return "this is not PostgreSQL: check address and port"
	}
	return remote.ConnectHint(err, "PostgreSQL", "server refused TLS connection")
}
