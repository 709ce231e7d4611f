package nats

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/engine/log"
)

// Options of [Open]. URLs alone are enough for a server without accounts.
type Options struct {
	URLs   []string // of the server's nodes, "nats://host:4222" or "tls://host:4222"; default nats://127.0.0.1:4222
	Bucket string   // the namespace: one store each; letters, digits, "_" and "-"; default "rota"

	User, Password string      // either
	Token          string      // or
	CredsFile      string      // of an account's user: a JWT and its seed, as `nsc` writes them
	TLS            *tls.Config // default: none, and the system's roots for tls://

	// Replicas is how many nodes of a cluster keep the data if Open creates the store: 1, 3 or 5. Default: 3 in a
	// cluster, else 1.
	Replicas int
	// MustExist refuses a missing bucket, with store.ErrNotFound, instead of creating it.
	MustExist bool
	// ReadOnly opens the store read-only: it implies MustExist, and every change is refused before it is sent.
	ReadOnly bool
	// Timeout bounds Open, and each call whose ctx does not end earlier. Default 5 s.
	Timeout time.Duration
	// Logger gets lost connections and the repairs of the store; default: discard.
	Logger *slog.Logger
}

const (
	defaultURL     = "nats://127.0.0.1:4222"
	defaultBucket  = "rota"
	defaultTimeout = 5 * time.Second
)

func (o Options) withDefaults() Options {
	if len(o.URLs) == 0 {
		o.URLs = []string{defaultURL}
	}
	o.Bucket = cmp.Or(o.Bucket, defaultBucket)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.MustExist = o.MustExist || o.ReadOnly
	return o
}

var bucketName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (o Options) validate() error {
	var faults []error
	if !bucketName.MatchString(o.Bucket) {
		faults = append(faults, fmt.Errorf("bucket %q: give 1 to 64 letters, digits, _ and -", o.Bucket))
	}
	if o.Timeout < 0 {
		faults = append(faults, fmt.Errorf("timeout %v is negative", o.Timeout))
	}
	switch o.Replicas {
	case 0, 1, 3, 5:
	default:
		faults = append(faults, fmt.Errorf("replicas %d: give 1, 3 or 5", o.Replicas))
	}
	for i, u := range o.URLs {
		if err := checkURL(u); err != nil {
			faults = append(faults, fmt.Errorf("address %d of %d: %w", i+1, len(o.URLs), err))
		}
	}
	if (o.User != "" || o.Password != "") && o.Token != "" {
		faults = append(faults, errors.New("both a user and a token: give one of them"))
	}
	return errors.Join(faults...)
}

// checkURL says nothing of what the address contains: there may be a password in it.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return errors.New(`it is not of the form "nats://host:4222"`)
	}
	switch u.Scheme {
	case "nats", "tls", "ws", "wss":
	default:
		return fmt.Errorf("scheme %q: give nats, tls, ws or wss", u.Scheme)
	}
	if u.Path != "" && u.Path != "/" {
		return errors.New("it has a path: the bucket is an option of its own")
	}
	return nil
}

// place says where a store lies.
func (o Options) place() string { return "NATS store " + o.hosts() + "/" + o.Bucket }

// hosts names the servers in errors and logs, without the rest of the addresses.
func (o Options) hosts() string {
	var out []string
	for _, text := range o.URLs {
		if u, err := url.Parse(text); err == nil {
			out = append(out, u.Host)
		}
	}
	return strings.Join(out, ",")
}

// ErrDamaged marks data that is missing or wrong. Retrying does not help: restore the streams from a copy.
var ErrDamaged = log.ErrDamaged

// Store is one handle on a bucket, with its own connection. It is safe for concurrent use.
type Store struct{ *full.Store }
