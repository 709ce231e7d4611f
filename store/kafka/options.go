package kafka

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

// Options of [Open]. Brokers alone are enough for a cluster without security.
type Options struct {
	Brokers []string // some of the cluster's, host:port; the others are asked for; default 127.0.0.1:9092
	// Name is the namespace, one store each: the prefix of the topics, and the ID of the group. Letters, digits, ".",
	// "_" and "-"; default "rota".
	Name string

	User, Password string      // by SASL
	Mechanism      string      // of SASL: plain, scram-sha-256 or scram-sha-512 (default)
	TLS            *tls.Config // default: none

	// Replicas is how many brokers keep a topic that Open creates. Default: 3, or all brokers if there are fewer.
	Replicas int
	// MustExist refuses a store whose topics do not exist, with store.ErrNotFound, instead of creating them.
	MustExist bool
	// ReadOnly opens the store read-only: it implies MustExist, and every change is refused before it is sent.
	ReadOnly bool
	// Timeout bounds Open, and each call whose ctx does not end earlier, except those of the group, which wait for
	// other members. Default 10 s.
	Timeout time.Duration
	// SnapshotEvery is the number of document changes after which a snapshot of all documents is made; default 10,000.
	SnapshotEvery int
	// Dial connects to a broker, host:port as the cluster names it; default: over TCP.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Logger gets lost connections and foreign records; default: discard.
	Logger *slog.Logger
}

const (
	defaultBroker   = "127.0.0.1:9092"
	defaultName     = "rota"
	defaultTimeout  = 10 * time.Second
	defaultReplicas = 3
	defaultEvery    = 10_000
)

func (o Options) withDefaults() Options {
	if len(o.Brokers) == 0 {
		o.Brokers = []string{defaultBroker}
	}
	o.Name = cmp.Or(o.Name, defaultName)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.SnapshotEvery = cmp.Or(o.SnapshotEvery, defaultEvery)
	o.Mechanism = cmp.Or(o.Mechanism, "scram-sha-512")
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: o.Timeout / 2}).DialContext
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.MustExist = o.MustExist || o.ReadOnly
	return o
}

// topicName leaves room for what Open adds: Kafka takes 249 bytes.
var topicName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,200}$`)

func (o Options) validate() error {
	var faults []error
	if !topicName.MatchString(o.Name) || strings.Trim(o.Name, ".") == "" {
		faults = append(faults, fmt.Errorf("name %q: give 1 to 200 letters, digits, . _ and -", o.Name))
	}
	for i, b := range o.Brokers {
		if _, _, err := net.SplitHostPort(b); err != nil {
			faults = append(faults, fmt.Errorf("broker %d of %d: it is not of the form %q", i+1, len(o.Brokers),
				"host:9092"))
		}
	}
	if o.Timeout < 0 {
		faults = append(faults, fmt.Errorf("timeout %v is negative", o.Timeout))
	}
	if o.Replicas < 0 || o.Replicas > 9 {
		faults = append(faults, fmt.Errorf("replicas %d: give 1 to 9, or 0 for the default", o.Replicas))
	}
	if o.SnapshotEvery < 0 {
		faults = append(faults, fmt.Errorf("a snapshot every %d changes: give at least 1, or 0 for the default",
			o.SnapshotEvery))
	}
	faults = append(faults, remote.CheckLogin(o.User, o.Password))
	switch o.Mechanism {
	case "plain", "scram-sha-256", "scram-sha-512":
	default:
		faults = append(faults, fmt.Errorf("mechanism %q: give plain, scram-sha-256 or scram-sha-512", o.Mechanism))
	}
	return errors.Join(faults...)
}

// place names the store in errors.
func (o Options) place() string {
	return fmt.Sprintf("Kafka store %s/%s", strings.Join(o.Brokers, ","), o.Name)
}

// The maximum sizes; above them, calls return store.ErrTooLarge.
const (
	MaxRecord   = maxBatch - overhead // bytes of a document or of a record of the log
	MaxSnapshot = log.MaxValues       // bytes of a snapshot, which is split into parts
)

// Store is one handle, with its own connections. It is safe for concurrent use.
type Store struct {
	*full.Watched
	*group
	c *cluster
}

var (
	_ store.Full         = (*Store)(nil)
	_ store.Watcher      = (*Store)(nil)
	_ store.Group        = (*Store)(nil)
	_ store.EndableGroup = (*Store)(nil)
	_ store.SessionEnder = (*Store)(nil)
	_ store.Seeder       = (*Store)(nil)
	_ store.Queue        = (*Store)(nil)
)

// Foreign is the number of records skipped by this handle that rota did not write.
func (s *Store) Foreign() int64 { return s.c.line.foreign.Load() + s.c.Skipped() }

// endsPlace is what the key of a member of the group begins with.
const endsPlace = "member "

// EndPlace implements store.EndableGroup.
func (s *Store) EndPlace(id string) store.EndKey { return store.EndKey{Text: endsPlace + id} }

// EndSession implements store.SessionEnder: it ends what a process has written to documents, or leaves the group.
func (s *Store) EndSession(ctx context.Context, key string) error {
	if id, ok := strings.CutPrefix(key, endsPlace); ok {
		return s.LeaveGroup(ctx, id)
	}
	return s.Watched.EndSession(ctx, key)
}
