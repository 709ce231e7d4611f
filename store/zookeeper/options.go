package zookeeper

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/engine/log"
	"github.com/rota-run/rota/store/internal/remote"
)

// Options of [Open]. Only Servers must be set.
type Options struct {
	// Servers are addresses host:port; the default port is 2181. Names are resolved again for each connection.
	Servers []string
	// Path is the node above the whole store, "/a/b"; default "/rota". It is created if it is missing.
	Path string
	// User and Password are digest credentials. With them, only this user may read and write the nodes at and below
	// Path; created parents of Path are open to all. ZooKeeper sends the password unencrypted: use TLS with it.
	User, Password string
	// TLS connects through TLS; the server needs a secureClientPort. An empty ServerName is taken from the address.
	TLS *tls.Config
	// Session is the timeout of the handle's own session, which holds no documents; default 10 s. A server that does
	// not answer is abandoned after two thirds of it.
	Session time.Duration
	// MustExist refuses a path without a store (store.ErrNotFound), instead of creating one.
	MustExist bool
	// ReadOnly opens the store read-only: it implies MustExist, and every change is refused before it is sent.
	ReadOnly bool
	// QuorumReads makes each read wait for its own transaction instead of ZooKeeper's sync; for its effect see "What is
	// not guaranteed" in the package comment. It is needed if Servers are load balancers.
	QuorumReads bool
	// Timeout bounds Open, and how long a call waits for a lost connection unless its ctx ends before; default 10 s.
	Timeout time.Duration
	// Logger gets connection and session events; default: discard.
	Logger *slog.Logger
}

// The defaults.
const (
	DefaultPath    = "/rota"
	defaultSession = 10 * time.Second
	defaultTimeout = 10 * time.Second
	defaultPort    = "2181"
	maxPath        = 200 // bytes: it is in each part of a request
)

func (o Options) withDefaults() (Options, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Path = cmp.Or(o.Path, DefaultPath)
	o.Session = cmp.Or(max(o.Session, 0), defaultSession)
	o.Timeout = cmp.Or(max(o.Timeout, 0), defaultTimeout)
	o.MustExist = o.MustExist || o.ReadOnly
	var err error
	if o.Servers, err = remote.Complete("server", o.Servers, defaultPort); err != nil {
		return o, err
	}
	if err := remote.CheckLogin(o.User, o.Password); err != nil {
		return o, err
	}
	if strings.Contains(o.User, ":") {
		return o, fmt.Errorf("user %q contains a colon: ZooKeeper separates user and password by it", o.User)
	}
	return o, checkPath(o.Path)
}

// place says where a store lies.
func (o Options) place() string { return "zookeeper " + strings.Join(o.Servers, ",") + o.Path }

func checkPath(path string) error {
	if path == "/" {
		return errors.New(`path is "/": give a node of its own, such as "/rota"`)
	}
	if len(path) > maxPath {
		return fmt.Errorf("path %.40q… has %d bytes: at most %d are allowed", path, len(path), maxPath)
	}
	segments := strings.Split(path, "/")
	if segments[0] != "" {
		return fmt.Errorf("path %q does not begin with a slash: try %q", path, "/"+path)
	}
	if segments[1] == "zookeeper" {
		return fmt.Errorf("path %q: ZooKeeper keeps /zookeeper for itself: take another one", path)
	}
	for _, s := range segments[1:] {
		if s == "" || s == "." || s == ".." || strings.ContainsFunc(s, unicode.IsControl) {
			return fmt.Errorf("path %q: the segment %q is not allowed", path, s)
		}
	}
	return nil
}

// errGivenUp ends attempts to connect.
var errGivenUp = errors.New("the connection was given up")

// hosts tells the library which server to try next. The library's own provider waits a second before it comes back to a
// server, also when that has just dropped the connection because of an election that takes a third of it.
type hosts struct {
	mu      sync.Mutex
	servers []string
	next    int
	failed  int // attempts since the last success
}

// Init implements zk.HostProvider.
func (h *hosts) Init(servers []string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.servers = servers
	return nil
}

// Len implements zk.HostProvider.
func (h *hosts) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.servers)
}

// quickRounds is how many times all servers are tried with short pauses. After that the library pauses for a second,
// and refuses what waits.
const quickRounds = 6

// Next implements zk.HostProvider.
func (h *hosts) Next() (server string, retryStart bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	server = h.servers[h.next%len(h.servers)]
	h.next++
	round, first := h.failed/len(h.servers), h.failed%len(h.servers) == 0
	h.failed++
	return server, first && round >= quickRounds
}

// Connected implements zk.HostProvider.
func (h *hosts) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed = 0
}

// pause is how long to wait before the present attempt: nothing in the first round, then 20 ms, 40 ms, and so on to 320
// ms for each round.
func (h *hosts) pause() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	round, first := (h.failed-1)/len(h.servers), (h.failed-1)%len(h.servers) == 0
	if !first || round < 1 || round >= quickRounds {
		return 0
	}
	return 10 * time.Millisecond << round
}

// connect opens a connection, through TLS if there is a configuration.
func connect(ctx context.Context, addr string, config *tls.Config) (net.Conn, error) {
	if config == nil {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
	return (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", addr)
}

// The maximum sizes; above them, calls return ErrTooLarge. A server accepts requests of up to 1 MB (jute.maxbuffer),
// with names and ACLs.
const (
	MaxRecord   = 900 << 10       // bytes of a document or of a record of the log
	MaxSnapshot = log.MaxSnapshot // bytes of a snapshot, which is split into parts
)

// ErrDamaged marks what this store cannot have written: another program wrote or deleted below its path.
var ErrDamaged = log.ErrDamaged

// Store is one handle on the store. It is safe for concurrent use.
type Store struct{ *full.Store }
