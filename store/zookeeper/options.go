package zookeeper

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base32"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/rota-run/rota/store/driver"
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
// server, also when that has just dropped the connection because of an election that takes a third of it; and members
// whose leases have run out wait for the server to come back.
type hosts struct {
	mu      sync.Mutex
	servers []string
	next    int
	failed  int  // attempts since the last success
	over    bool // there shall be no further one
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

// maxPause is the longest pause between two rounds of attempts.
const maxPause = 320 * time.Millisecond

// Next implements zk.HostProvider. The library is not told that a round has ended: it would pause for a second, and
// refuse what waits. It notices that it was closed only at the end of a round, so from then on each attempt ends one.
func (h *hosts) Next() (server string, retryStart bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	server = h.servers[h.next%len(h.servers)]
	h.next++
	h.failed++
	return server, h.over
}

// giveUp has the library look whether it was closed before each attempt.
func (h *hosts) giveUp() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
}

// Connected implements zk.HostProvider.
func (h *hosts) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed = 0
}

// pause is how long to wait before the present attempt: nothing in the first round, then 20 ms, 40 ms, and so on to
// maxPause for each round.
func (h *hosts) pause() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	round, first := (h.failed-1)/len(h.servers), (h.failed-1)%len(h.servers) == 0
	if !first || round < 1 {
		return 0
	}
	return min(10*time.Millisecond<<min(round, 16), maxPause)
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

// The nodes below the store's path; see State in the package's comment.
const (
	rowsNode  = "rows"
	livesNode = "lives"
)

func (o Options) at(names ...string) string { return o.Path + "/" + strings.Join(names, "/") }

// split returns the folder and the name of a row's node. Folders are one level deep. "+" means "/" in their names,
// and names the folder of keys without one; so a row is always a leaf, and "a" and "a/b" do not collide. No key has a
// "+" or a "~".
func split(key string) (folder, name string) {
	i := strings.LastIndexByte(key, '/')
	name = key[i+1:]
	if name == "." || name == ".." { // ZooKeeper takes them for directions
		name += "~"
	}
	return "+" + strings.ReplaceAll(key[:max(i, 0)], "/", "+"), name
}

// dirOf is what the keys in a folder begin with; false for a node that is none of ours.
func dirOf(folder string) (dir string, ok bool) {
	dir, ok = strings.CutPrefix(folder, "+")
	if dir != "" {
		dir = strings.ReplaceAll(dir, "+", "/") + "/"
	}
	return dir, ok
}

// join is the reverse of split.
func join(dir, name string) string { return dir + strings.TrimSuffix(name, "~") }

// covers reports whether a folder may have keys with a prefix.
func covers(dir, prefix string) bool {
	rest, within := strings.CutPrefix(prefix, dir)
	return strings.HasPrefix(dir, prefix) || within && !strings.Contains(rest, "/")
}

func (o Options) rowPath(key string) string {
	folder, name := split(key)
	return o.at(rowsNode, folder, name)
}

func (o Options) lifePath(life string) string { return o.at(livesNode, life) }

// lifeLength is the length of the random name of a row's life.
const lifeLength = 16

func newLife() string {
	var b [10]byte
	rand.Read(b[:])
	return strings.ToLower(base32.HexEncoding.EncodeToString(b[:]))
}

// version is a life and how many times the row was changed in it. What is written once has no life, and neither has
// what somebody else wrote.
func version(life string, n int32) driver.Version {
	return driver.Version(life + "." + strconv.FormatInt(int64(n), 10))
}

// parseVersion returns false for what is no version of this store, and so is not current.
func parseVersion(v driver.Version) (life string, n int32, ok bool) {
	life, number, found := strings.Cut(string(v), ".")
	i, err := strconv.ParseInt(number, 10, 32)
	fine := life == "" || len(life) == lifeLength && !strings.Contains(life, "/")
	if !found || err != nil || !fine || i == -1 { // -1 means any version to ZooKeeper
		return "", 0, false
	}
	return life, int32(i), true
}

// encodeRow is the data of a row's node: its life, a line feed, the name of the write, a line feed, the value.
func encodeRow(life, name string, value []byte) []byte {
	b := make([]byte, 0, len(life)+len(name)+2+len(value))
	b = append(append(b, life...), '\n')
	b = append(append(b, name...), '\n')
	return append(b, value...)
}

// decodeRow is the reverse of encodeRow. Data that somebody else wrote, by the servers' own shell, is all value:
// package engine refuses it.
func decodeRow(data []byte) (life, name string, value []byte) {
	first, rest, ok := bytes.Cut(data, []byte("\n"))
	second, value, ok2 := bytes.Cut(rest, []byte("\n"))
	if !ok || !ok2 || len(first) != 0 && len(first) != lifeLength {
		return "", "", data
	}
	return string(first), string(second), value
}

// rowOf is the row at a key, whose node was read.
func rowOf(key string, n node) driver.Row {
	if n.stat == nil {
		return driver.Row{Key: key}
	}
	life, name, value := decodeRow(n.data)
	return driver.Row{Key: key, Name: name, Value: value, Version: version(life, n.stat.Version)}
}

// folderOf is the folder of a row's node; false for another node.
func (o Options) folderOf(path string) (folder string, ok bool) {
	i := strings.LastIndexByte(path, '/')
	return path[:i], strings.HasPrefix(path, o.at(rowsNode, "+"))
}
