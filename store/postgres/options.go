package postgres

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/engine/log"
	"github.com/rota-run/rota/store/internal/remote"
)

// Defaults of [Options].
const (
	defaultName        = "rota" // of user, database and schema
	defaultPort        = "5432"
	defaultTimeout     = 5 * time.Second
	defaultConnections = 3
)

// lineConnections are those that a handle with sessions needs beside its workers: one that listens, one that waits for
// others' ends.
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
	// Connections is the maximum number of connections of a handle, 3 or more; default 3. One listens and proves that
	// the process is alive, one waits for the end of another process, and the rest make the calls, one after the other.
	// A handle without watches and sessions opens only the last ones.
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

// The maximum sizes; above them, calls return ErrTooLarge.
const (
	MaxRecord   = 16 << 20        // bytes of a document or of a record of the log
	MaxSnapshot = log.MaxSnapshot // bytes of a snapshot, which is split into parts
)

// Store is one handle on the store. It is safe for concurrent use.
type Store struct{ *full.Store }

// oldest is the oldest version of the server that has what is needed here, as the server numbers it.
const oldest = 120000

// serverState is what a new connection has found out.
type serverState struct {
	version  int64
	standby  bool
	readOnly bool
	noSync   bool // fsync is off: nothing survives a power cut
	pid      int64
	client   string // address and port as the server sees them; "" for none
	port     int32
}

// The settings of a connection. Those that a server does not know are left out. What is acknowledged must be on the
// disk, so what the administrator has weakened is set again for these connections; what is stronger stays. Plans are
// made while the tables are empty, and kept: they must not be those for small tables. A plan that has no index costs so
// much then that the server would compile it each time: not that either.
const sqlSettle statement = `SELECT count(set_config(w.name, w.value, false)) FROM (VALUES
  ('default_transaction_isolation', 'read committed'), ('statement_timeout', '0'), ('lock_timeout', '0'), ('idle_session_timeout', '0'),
  ('idle_in_transaction_session_timeout', '60s'), ('transaction_timeout', '0'), ('client_connection_check_interval', '0'),
  ('plan_cache_mode', 'force_generic_plan'), ('enable_seqscan', 'off'), ('enable_bitmapscan', 'off'), ('jit', 'off'),
  ('client_min_messages', 'error'), ('search_path', 'pg_catalog'), ('tcp_user_timeout', '0'),
  ('tcp_keepalives_idle', '7200'), ('tcp_keepalives_interval', '75'), ('tcp_keepalives_count', '9'),
  ('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN 'on' ELSE current_setting('synchronous_commit') END)
) AS w(name, value) JOIN pg_catalog.pg_settings s ON s.name = w.name`

const sqlState statement = `SELECT current_setting('server_version_num')::int, pg_is_in_recovery(), current_setting('transaction_read_only') = 'on',
  current_setting('fsync') = 'off', pg_backend_pid(), coalesce(host(inet_client_addr()), ''), coalesce(inet_client_port(), 0)`

// settle sets up a new connection. Neither statement is prepared: a pooler may not keep them.
func (c *conn) settle(ctx context.Context) (serverState, error) {
	if r := c.ExecParams(ctx, string(sqlSettle), nil, nil, nil, nil).Read(); r.Err != nil {
		return serverState{}, r.Err
	}
	r := c.ExecParams(ctx, string(sqlState), nil, nil, nil, []int16{1}).Read()
	if r.Err != nil {
		return serverState{}, r.Err
	}
	if len(r.Rows) != 1 {
		return serverState{}, errors.New("this does not answer like PostgreSQL")
	}
	found := row(r.Rows[0])
	return serverState{
		version: found.int(0), standby: found.bool(1), readOnly: found.bool(2), noSync: found.bool(3),
		pid:    found.int(4),
		client: found.text(5), port: int32(found.int(6)), //nolint:gosec // a port
	}, nil
}

// errStandby marks a server that follows another one.
var errStandby = errors.New("the server is a standby: it may be behind, and takes no writes: name the primary, or all servers of the cluster")

// check refuses a server that cannot keep what a store promises.
func (st serverState) check(o Options) error {
	switch {
	case st.version < oldest:
		return fmt.Errorf("the server is PostgreSQL %d.%d: at least %d is needed", st.version/10000, st.version%10000,
			oldest/10000)
	case st.standby:
		return fmt.Errorf("%w: %w", store.ErrUnavailable, errStandby)
	case st.readOnly && !o.ReadOnly:
		return fmt.Errorf("%w: the server or the user's sessions are set to be read only (default_transaction_read_only): switch that off", store.ErrUnavailable)
	}
	return nil
}

// direct reports whether the server sees the address and port that this process has. Then nobody is in between who
// could end the connection while the process lives: no pooler, no proxy, no translation of addresses.
func (c *conn) direct() bool {
	return c.server.client != "" && sameAddress(c.Conn().LocalAddr(), c.server.client, c.server.port)
}

// sameAddress reports whether two addresses are one, whatever form they have.
func sameAddress(a net.Addr, host string, port int32) bool {
	tcp, ok := a.(*net.TCPAddr)
	ip := net.ParseIP(host)
	return ok && ip != nil && tcp.IP.Equal(ip) && tcp.Port == int(port)
}
