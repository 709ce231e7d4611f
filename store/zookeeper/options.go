package zookeeper

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"
	"unicode"
)

// Options of [Open]. Only Servers must be set.
type Options struct {
	// Servers are addresses host:port; without a port it is 2181. Names are resolved anew for each connection.
	Servers []string
	// Path is the node below which everything lies, "/a/b"; default "/rota". It is made if it is missing.
	Path string
	// User and Password are digest credentials. With them, all nodes at and below Path are made readable and writable by this user alone; parents
	// of Path that had to be made are open to all. ZooKeeper sends the password in the clear: use TLS with it.
	User, Password string
	// TLS connects through TLS; the server needs a secureClientPort. An empty ServerName is taken from the address.
	TLS *tls.Config
	// Session is the timeout of the handle's own session, which holds no documents; default 10 s. It decides how soon a server that
	// answers nothing is given up: after two thirds of it.
	Session time.Duration
	// MustExist refuses a path that holds no store yet (store.ErrNotFound), instead of making one.
	MustExist bool
	// ReadOnly opens for looking only: it implies MustExist, and each call that would change something is refused before it is sent.
	ReadOnly bool
	// QuorumReads makes each read wait for a transaction of its own instead of ZooKeeper's sync; see "What is not guaranteed" in the package's comment for what
	// that buys. It is needed where Servers are balancers.
	QuorumReads bool
	// Timeout bounds Open, and how long a call waits for a lost connection to come back if its ctx does not end before; default 10 s.
	Timeout time.Duration
	// Logger hears of connections that come and go, and of sessions; default: discard.
	Logger *slog.Logger
}

// The defaults.
const (
	DefaultPath    = "/rota"
	defaultSession = 10 * time.Second
	defaultTimeout = 10 * time.Second
	defaultPort    = "2181"
	maxPath        = 200 // bytes: it stands in each part of a request
)

func (o Options) withDefaults() (Options, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Path == "" {
		o.Path = DefaultPath
	}
	if o.Session <= 0 {
		o.Session = defaultSession
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	o.MustExist = o.MustExist || o.ReadOnly
	servers, err := addresses(o.Servers)
	if err != nil {
		return o, err
	}
	o.Servers = servers
	if (o.User == "") != (o.Password == "") {
		return o, errors.New("give both a user and a password, or none")
	}
	if strings.Contains(o.User, ":") {
		return o, fmt.Errorf("user %q contains a colon: ZooKeeper separates user and password by it", o.User)
	}
	return o, checkPath(o.Path)
}

// addresses completes addresses with the default port.
func addresses(servers []string) ([]string, error) {
	if len(servers) == 0 {
		return nil, errors.New("no servers: give at least one host:port")
	}
	var out []string
	for _, s := range servers {
		host, port, err := net.SplitHostPort(s)
		if err != nil {
			host, port = strings.Trim(s, "[]"), defaultPort
		}
		if host == "" || port == "" || (err != nil && strings.Contains(s, ":") && net.ParseIP(host) == nil) {
			return nil, fmt.Errorf("server %q: give host or host:port", s)
		}
		out = append(out, net.JoinHostPort(host, port))
	}
	return out, nil
}

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
