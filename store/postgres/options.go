package postgres

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"github.com/rota-run/rota/store/internal/remote"
)

// Defaults of [Options].
const (
	defaultName        = "rota" // of user, database and schema
	defaultPort        = "5432"
	defaultTimeout     = 5 * time.Second
	defaultConnections = 3
)

// lineConnections are those that a handle with sessions needs beside its workers: one that listens, one that waits for others' ends.
const lineConnections = 2

// Options of [Open].
type Options struct {
	// Hosts are the servers of one cluster, host:port each; the default port is 5432. Of several, the primary is used.
	Hosts []string
	// Database and Schema are the place of the store; default "rota" each. The schema belongs to the store alone.
	Database, Schema string
	// User and Password log in; the user is "rota" by default. The password appears in no error.
	User, Password string
	// TLS encrypts the connection; nil: plain text.
	TLS *tls.Config
	// MustExist makes Open fail with store.ErrNotFound if there is no store yet, instead of creating one.
	MustExist bool
	// ReadOnly implies MustExist. Every change is refused before anything is sent.
	ReadOnly bool
	// Connections is the maximum number of connections of a handle, 3 or more; default 3. One listens and proves that the process is alive, one waits for the end of
	// another process, and the rest make the calls, one after the other. A handle without watches and sessions opens only the last ones.
	Connections int
	// Timeout bounds Open, and each change whose ctx does not end earlier; default 5 s.
	Timeout time.Duration
	// Logger gets background events; default: discard.
	Logger *slog.Logger
}

// schemaName is what a schema may be called; a channel is named after it, and names have at most 63 bytes.
var schemaName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,57}$`)

func (o Options) withDefaults() (Options, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Timeout = cmp.Or(max(o.Timeout, 0), defaultTimeout)
	for _, name := range []*string{&o.Database, &o.Schema, &o.User} {
		*name = cmp.Or(*name, defaultName)
	}
	o.MustExist = o.MustExist || o.ReadOnly
	o.Connections = cmp.Or(o.Connections, defaultConnections)
	switch {
	case o.Connections < defaultConnections:
		return o, fmt.Errorf("%d connections: give at least %d", o.Connections, defaultConnections)
	case !schemaName.MatchString(o.Schema) || strings.HasPrefix(o.Schema, "pg_"):
		return o, fmt.Errorf("schema %.70q: write 1 to 58 of A-Z a-z 0-9 _ . -, a letter first, and not pg_", o.Schema)
	case strings.ContainsAny(o.Database+o.User, "\x00"):
		return o, errors.New("database or user: a zero byte is not allowed")
	}
	var err error
	o.Hosts, err = remote.Complete("host", o.Hosts, defaultPort)
	return o, err
}

// place says where a store lies.
func (o Options) place() string {
	return "postgres " + strings.Join(o.Hosts, ",") + "/" + o.Database + " schema " + o.Schema
}
