package elastic

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/engine"
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/engine/log"
	inner "github.com/rota-run/rota/store/internal/driver"
	"github.com/rota-run/rota/store/internal/remote"
)

// Defaults of [Options].
const (
	defaultIndex   = "rota"
	defaultPort    = "9200"
	defaultTimeout = 5 * time.Second
)

// Options of [Open].
type Options struct {
	// Servers are nodes of one cluster, host:port each; the default port is 9200. Give several: any live one is enough.
	Servers []string
	// Index is the index of the store; default "rota". It must contain nothing else.
	Index string
	// User and Password, or APIKey (the base64 text that the server calls "encoded"), log in. None of them appears in
	// an error.
	User, Password, APIKey string
	// TLS encrypts the connections; nil: plain text.
	TLS *tls.Config
	// Copies is the number of nodes that hold a new index, 1 to 5; 0: up to three, depending on the number of nodes.
	Copies int
	// MustExist makes Open fail with store.ErrNotFound if there is no store yet, instead of creating one.
	MustExist bool
	// ReadOnly implies MustExist. Every change is refused before anything is sent.
	ReadOnly bool
	// Timeout limits Open, and the wait for the answer to each request; default 5 s.
	Timeout time.Duration
	// Logger gets background events; default: discard.
	Logger *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Timeout = cmp.Or(max(o.Timeout, 0), defaultTimeout)
	o.Index = cmp.Or(o.Index, defaultIndex)
	if err := CheckIndex(o.Index); err != nil {
		return o, err
	}
	o.MustExist = o.MustExist || o.ReadOnly
	switch {
	case o.APIKey != "" && (o.User != "" || o.Password != ""):
		return o, errors.New("API key and user: give one of them")
	case o.Copies < 0 || o.Copies > 5:
		return o, fmt.Errorf("%d copies: give 1 to 5, or 0 for the default", o.Copies)
	}
	if err := remote.CheckLogin(o.User, o.Password); err != nil {
		return o, err
	}
	var err error
	o.Servers, err = remote.Complete("server", o.Servers, defaultPort)
	return o, err
}

// place says where a store lies.
func (o Options) place() inner.Place {
	return inner.Place("elastic " + strings.Join(o.Servers, ",") + "/" + o.Index)
}

var indexName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,199}$`)

// CheckIndex reports what is wrong with the name of an index, or nil.
func CheckIndex(name string) error {
	if !indexName.MatchString(name) {
		return fmt.Errorf("index %.210q: give 1 to 200 small letters and digits, and after the first of them . _ -",
			name)
	}
	return nil
}

// The maximum sizes; above them, calls return store.ErrTooLarge. Servers accept requests of 100 MB by default.
const (
	MaxValue    = 16 << 20        // bytes of a document or of a record of the log
	MaxSnapshot = log.MaxSnapshot // bytes of a snapshot, which is split into parts
)

// Store is one handle on the store. It is safe for concurrent use.
type Store struct {
	*full.Endable
	conn *conn
}

var (
	_ store.Full      = (*Store)(nil)
	_ store.Refresher = (*Store)(nil)
)

// Refresh implements store.Refresher. It needs the privilege maintenance.
func (s *Store) Refresh(ctx context.Context) error {
	return s.conn.o.place().Failed(s.conn.refresh(ctx), "refresh")
}

// Open opens the store in o.Index, and creates it if it does not exist and the options allow that. An error says where,
// what and what to try; nothing is left open then. ctx bounds Open only.
func Open(ctx context.Context, o Options) (*Store, error) {
	c, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	options := full.Options{Place: string(c.o.place()), ReadOnly: c.o.ReadOnly, Logger: c.o.Logger}
	return &Store{full.NewEndable(c, options), c}, nil
}

// OpenDriver opens what Open makes a store of, for tests of drivers. It takes changes even if o.ReadOnly.
func OpenDriver(ctx context.Context, o Options) (engine.Driver, error) {
	c, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func open(ctx context.Context, o Options) (*conn, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("open elastic store: %w", err)
	}
	c := newConn(o)
	for _, check := range []func(context.Context) error{c.checkServer, c.identify, c.checkHealth} {
		if err := check(ctx); err != nil {
			_ = c.Close() // the first error is the one that matters
			return nil, o.place().Failed(err, "open store")
		}
	}
	return c, nil
}

// checkServer refuses servers that are too old, or something else.
func (c *conn) checkServer(ctx context.Context) error {
	a, err := c.ask(ctx, request{"GET", "/", nil})
	if err != nil {
		return err
	}
	if a.status == 405 { // a server without that page
		if a, err = c.ask(ctx, request{"GET", "/_nodes/_local?filter_path=nodes.*.version", nil}); err != nil {
			return err
		}
	}
	if a.status == 403 {
		c.log.Debug("no right to ask the server for its version", "answer", string(a.body))
		return nil
	}
	if !a.good() {
		return notOurs(a)
	}
	return a.checkVersion()
}

// notOurs is the error for an answer that a search server may have given, or some other one.
func notOurs(a answer) error {
	if !json.Valid(a.body) && a.status != 401 {
		return fmt.Errorf("the server answers with status %d: this is not Elasticsearch or OpenSearch: check the port",
			a.status)
	}
	return readError(a)
}

// checkVersion reads the version out of either page.
func (a answer) checkVersion() error {
	type version struct{ Number, Distribution string }
	var page struct {
		Version version
		Nodes   map[string]struct{ Version string }
	}
	err := json.Unmarshal(a.body, &page)
	for _, n := range page.Nodes { // order-free: one node was asked
		page.Version = version{Number: n.Version}
		if !a.elastic {
			page.Version.Distribution = "opensearch"
		}
	}
	if err != nil || page.Version.Number == "" {
		return errors.New("this is not Elasticsearch or OpenSearch: check the port")
	}
	name, oldest := "Elasticsearch", oldestElastic
	if page.Version.Distribution == "opensearch" {
		name, oldest = "OpenSearch", oldestOpenSearch
	}
	first, _, _ := strings.Cut(page.Version.Number, ".")
	if major, err := strconv.Atoi(first); err != nil || major < oldest {
		return fmt.Errorf("the server is %s %.20s: it must be at least %d.0", name, page.Version.Number, oldest)
	}
	return nil
}

// The oldest supported versions.
const (
	oldestElastic    = 8
	oldestOpenSearch = 2
)

// identify checks the index, and creates it if there is none.
func (c *conn) identify(ctx context.Context) error {
	exists, err := c.inspect(ctx)
	switch {
	case err != nil:
		return err
	case exists:
		return c.mayWrite(ctx)
	case c.o.MustExist:
		return fmt.Errorf("there is no index %q: check the name, or start a member first: %w", c.o.Index,
			store.ErrNotFound)
	}
	path := fmt.Sprintf("/%s?timeout=%dms", c.o.Index, c.o.Timeout.Milliseconds())
	a, err := c.change(ctx, request{"PUT", path, creation(c.o.Copies)})
	switch {
	case errors.Is(err, store.ErrUnknown): // the next look decides
	case err != nil:
		return err
	case !a.good() && faultOf(a).Type != "resource_already_exists_exception":
		return inner.NotDone(writeError(a))
	}
	if exists, err = c.inspect(ctx); err == nil && !exists { // another process may have made it; it must be the right one
		err = fmt.Errorf("%w: the index %q could not be made in time", store.ErrUnavailable, c.o.Index)
	}
	return err
}

// inspect checks the index, if it exists.
func (c *conn) inspect(ctx context.Context) (exists bool, err error) {
	a, err := c.ask(ctx, request{"GET", "/" + c.o.Index, nil})
	if err != nil {
		return false, err
	}
	if a.status == 404 && faultOf(a).Type == "index_not_found_exception" {
		return false, nil
	}
	if !a.good() {
		return false, notOurs(a)
	}
	var found map[string]index
	if err := json.Unmarshal(a.body, &found); err != nil {
		return false, fmt.Errorf("the answer about the index %q: %w", c.o.Index, err)
	}
	i, ok := found[c.o.Index]
	if !ok || len(found) != 1 {
		return false, fmt.Errorf("%q is an alias or a data stream, and not an index: give the name of an index",
			c.o.Index)
	}
	return true, i.check(c.o.Index, !c.o.ReadOnly)
}

// checkHealth waits a moment until the shard can be read and written. A new one that is not there yet counts as yellow.
func (c *conn) checkHealth(ctx context.Context) error {
	wait := c.o.Timeout / 2
	path := fmt.Sprintf("/_cluster/health/%s?wait_for_status=yellow&wait_for_active_shards=1&timeout=%dms", c.o.Index,
		wait.Milliseconds())
	a, err := c.ask(ctx, request{"GET", path, nil})
	if err != nil {
		return err
	}
	if a.status == 403 {
		c.log.Debug("no right to ask for the health of the index", "answer", string(a.body))
		return nil
	}
	var health struct {
		Status string
		Active int `json:"active_primary_shards"`
	}
	if err := json.Unmarshal(a.body, &health); err != nil || health.Status == "" {
		return readError(a)
	}
	if health.Status != "red" && health.Active > 0 {
		_, who, err := c.checkpoint(ctx) // so that the first read need not ask twice
		c.settling.same(who)
		return err
	}
	return fmt.Errorf("%w: the health of the index %q is red: no node that has its newest copy is up: start the missing nodes; GET /_cluster/allocation/explain says more",
		store.ErrUnavailable, c.o.Index)
}
