package elastic

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"github.com/rota-run/rota/store"
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
