// Package postgres starts PostgreSQL servers for tests.
//
// # Purpose
//
// A driver is tested on the real server or not at all. [Start] starts a server with a database of its own on a port of
// the loopback interface. Tests kill it, suspend it and start it again. With an address in [Variable] tests use that
// server instead, and cannot kill it.
//
// # What is needed
//
// The programs initdb and postgres, from the distribution's packages: in the PATH, or where Debian's packages put them.
// .ci/postgres installs what a machine lacks. PostgreSQL refuses to run as root: then it runs as the user postgres that
// the package makes, in a temporary folder of that user. Where something is missing, Start returns a [MissingError];
// see [Require].
package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rota-run/rota/internal/proof/port"
)

// Variable is the environment variable with the address of a server to use instead of starting one: host:port. Its user
// and database are both "rota", and the user may create databases; PasswordVariable has the password, if there is one.
const (
	Variable         = "ROTA_TEST_POSTGRES"
	PasswordVariable = "ROTA_TEST_POSTGRES_PASSWORD"
)

// User is the name of the user, and of the database, on all servers.
const User = "rota"

// Options of [Start].
type Options struct {
	Dir      string   // of the data, unless it runs as another user; "" is a temporary folder that Stop removes
	NoSync   bool     // leaves out all syncing to disk: faster, and right for what nobody needs after a power cut
	Settings []string // more settings, "name=value"
	HBA      string   // pg_hba.conf; "" trusts everybody who is on this machine
	// Files are written into the data folder, for the server alone to read: certificates, keys.
	Files map[string]string
}

// Server is a server. It is not safe for concurrent use.
type Server struct {
	addr     string
	dir      string // removed by Stop; "": kept
	data     string
	settings []string
	owner    *owner
	program  string
	process  *process // nil: it does not run
	release  func()   // gives up the port
}

// ErrExternal refuses to kill a server that was not started here.
var ErrExternal = errors.New("the server of " + Variable + " is not ours to stop")

// Start starts a server and returns when it serves. A [MissingError] says what this machine lacks.
func Start(ctx context.Context, o Options) (*Server, error) {
	if addr := os.Getenv(Variable); addr != "" {
		return &Server{addr: addr}, nil
	}
	s, err := prepare(o)
	if err == nil {
		err = s.Restart(ctx)
	}
	if err == nil {
		err = s.createDatabase(ctx, User)
	}
	if err != nil {
		if s != nil {
			s.Stop()
		}
		return nil, err
	}
	return s, nil
}

// prepare makes the folder of a server.
func prepare(o Options) (*Server, error) {
	initdb, err := Program("initdb")
	if err != nil {
		return nil, err
	}
	s := &Server{}
	if s.program, err = Program("postgres"); err != nil {
		return nil, err
	}
	if s.owner, err = ownerFor(); err != nil {
		return nil, err
	}
	if err := s.folder(o); err != nil {
		return s, err
	}
	addrs, release, err := port.Find(1)
	if err != nil {
		return s, err
	}
	s.addr, s.release = addrs[0], release
	out, err := s.owner.command(s.data, initdb, "-D", s.data, "-A", "trust", "--no-sync", "-U", User, "-E", "UTF8",
		"--locale=C").CombinedOutput()
	if err != nil {
		return s, fmt.Errorf("initdb: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return s, s.configure(o)
}

func (s *Server) folder(o Options) (err error) {
	dir := o.Dir
	if dir == "" || s.owner != nil { // another user may not be let into the caller's folder
		if dir, err = os.MkdirTemp(s.owner.passable(), "rota-postgres-"); err != nil {
			return fmt.Errorf("make a folder for the server: %w", err)
		}
		s.dir = dir
	}
	s.data = filepath.Join(dir, "data")
	if err := os.MkdirAll(s.data, 0o700); err != nil {
		return fmt.Errorf("make a folder for the server: %w", err)
	}
	return errors.Join(s.owner.give(dir), s.owner.give(s.data))
}

func (s *Server) configure(o Options) error {
	_, number, _ := strings.Cut(s.addr, ":")
	s.settings = []string{"port=" + number, "listen_addresses=127.0.0.1", "unix_socket_directories=",
		"shared_buffers=16MB", "max_connections=400"}
	if o.NoSync {
		s.settings = append(s.settings, "fsync=off", "full_page_writes=off")
	}
	s.settings = append(s.settings, o.Settings...)
	for name, text := range o.Files {
		if err := s.Write(name, text); err != nil {
			return err
		}
	}
	if o.HBA == "" {
		return nil
	}
	return s.Write("pg_hba.conf", o.HBA)
}

// Write writes a file into the data folder, for the server alone to read.
func (s *Server) Write(name, text string) error {
	path := filepath.Join(s.data, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write a file of the server: %w", err)
	}
	return s.owner.give(path)
}

// Addr is the address of the server, host:port.
func (s *Server) Addr() string { return s.addr }

// URL is the database on this server, as --store names it.
func (s *Server) URL() string { return "postgres://" + s.addr + "/" + User }

// Connect connects to a database as the administrator.
func (s *Server) Connect(ctx context.Context, database string) (*pgconn.PgConn, error) {
	cfg, err := pgconn.ParseConfig("postgres://" + User + "@" + s.addr + "/" + database + "?sslmode=prefer")
	if err != nil {
		return nil, err
	}
	cfg.Password = os.Getenv(PasswordVariable)
	return pgconn.ConnectConfig(ctx, cfg)
}

// SQL runs statements as the administrator, and returns the first column of the last result.
func (s *Server) SQL(ctx context.Context, sql string) ([]string, error) {
	return s.SQLIn(ctx, User, sql)
}

// SQLIn is SQL in a database.
func (s *Server) SQLIn(ctx context.Context, database, sql string) (column []string, err error) {
	c, err := s.Connect(ctx, database)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	results, err := c.Exec(ctx, sql).ReadAll()
	if err != nil || len(results) == 0 {
		return nil, err
	}
	for _, r := range results[len(results)-1].Rows {
		column = append(column, string(r[0]))
	}
	return column, nil
}

func (s *Server) createDatabase(ctx context.Context, name string) error {
	if _, err := s.SQLIn(ctx, "postgres", "CREATE DATABASE "+name); err != nil {
		return fmt.Errorf("create the database %s: %w", name, err)
	}
	return nil
}

// Stop kills a server that was started here, and removes its temporary folder. It may be called again.
func (s *Server) Stop() {
	if s.process != nil {
		s.process.kill()
		s.process = nil
	}
	if s.release != nil {
		s.release()
		s.release = nil
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir) // it is a temporary one
	}
}

// Transactions returns how many transactions clients have made in the database since the server began to count. Each
// statement of a store is one. The server counts those of a connection that works without pause up to a second late.
func (s *Server) Transactions(ctx context.Context) (uint64, error) {
	column, err := s.SQLIn(ctx, "postgres",
		"SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = '"+User+"'")
	if err != nil {
		return 0, err
	}
	if len(column) != 1 {
		return 0, fmt.Errorf("count transactions: the server has %d databases %q", len(column), User)
	}
	return strconv.ParseUint(column[0], 10, 64)
}

// Standby starts a server that follows this one, which must let it in: see Options.HBA.
func (s *Server) Standby(ctx context.Context) (*Server, error) {
	if s.process == nil {
		return nil, ErrExternal
	}
	backup, err := Program("pg_basebackup")
	if err != nil {
		return nil, err
	}
	b := &Server{program: s.program, owner: s.owner}
	if err := b.folder(Options{}); err != nil {
		return nil, err
	}
	addrs, release, err := port.Find(1)
	if err != nil {
		return nil, err
	}
	b.addr, b.release = addrs[0], release
	host, number, _ := strings.Cut(s.addr, ":")
	out, err := b.owner.command(b.data, backup, "-D", b.data, "-R", "-X", "stream", "--no-sync", "-c", "fast", "-h",
		host, "-p", number, "-U", User).CombinedOutput()
	if err != nil {
		b.Stop()
		return nil, fmt.Errorf("copy the server for a standby: %w: %s", err, strings.TrimSpace(string(out)))
	}
	err = b.configure(Options{NoSync: true})
	if err == nil {
		err = b.Restart(ctx)
	}
	if err != nil {
		b.Stop()
		return nil, err
	}
	return b, nil
}
