package postgres

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rota-run/rota/store"
)

// isCode reports whether the server answered with one of these codes.
func isCode(err error, codes ...string) bool {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return false
	}
	for _, code := range codes {
		if answer.Code == code {
			return true
		}
	}
	return false
}

// openError says what to try.
func openError(ctx context.Context, err error) error {
	if hint := openHint(err); hint != "" {
		return fmt.Errorf("%w (%s)", err, hint)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w (check that PostgreSQL runs there and that the network lets you through)", store.ErrUnavailable, context.Cause(ctx))
	}
	return err
}

func openHint(err error) string {
	if hint := answerHint(err); hint != "" {
		return hint
	}
	return connectHint(err)
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

// connectHint is what to try where no server answered. Some causes come as text only.
func connectHint(err error) string {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var record tls.RecordHeaderError
	text := err.Error()
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(text, part) {
				return true
			}
		}
		return false
	}
	switch {
	case errors.As(err, &authority):
		return "give the certificate of the authority that signed the server's"
	case errors.As(err, &name), has("x509: certificate"):
		return "the server's certificate is for another name: use the name that it has"
	case has("server refused TLS connection"):
		return "the server does not speak TLS: leave TLS out"
	case errors.As(err, &record), has("unknown message type", "invalid message", "unexpected message", "body length", "does not answer like PostgreSQL"):
		return "this is not PostgreSQL: check address and port"
	case has("connection refused", "no such host", "no route to host", "i/o timeout", "network is unreachable", "hostname resolving"):
		return "check that PostgreSQL runs there and that the network lets you through"
	}
	return ""
}
