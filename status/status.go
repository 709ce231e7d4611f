package status

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/wait"
	"github.com/rota-run/rota/store"
)

// MaxValue is the maximum size of a value, as JSON, in bytes.
const MaxValue = 64 << 10

// The errors that a caller can act on.
var (
	// ErrStale refuses a report under a smaller token than that of an earlier report.
	ErrStale = errors.New("somebody with a larger token has reported since")
	// ErrNone is returned by Get if there is no report yet.
	ErrNone = errors.New("there is no report yet")
)

// Status is a named status in a store. It is only a name and holds nothing; its methods may be called from any
// goroutine.
type Status struct {
	docs store.Docs
	name string
}

// New returns the named status; for names see store.CheckName.
func New(docs store.Docs, name string) Status { return Status{docs, name} }

// Name returns the name.
func (s Status) Name() string { return s.name }

// String returns the name.
func (s Status) String() string { return s.name }

// MarshalText implements encoding.TextMarshaler with the name, so that a status can be an argument of a function that
// runs elsewhere.
func (s Status) MarshalText() ([]byte, error) {
	if err := store.CheckName(s.name); err != nil {
		return nil, fmt.Errorf("write a status: %w", err)
	}
	return []byte(s.name), nil
}

// UnmarshalText implements encoding.TextUnmarshaler. The status has no store then: see [Status.On].
func (s *Status) UnmarshalText(text []byte) error {
	if err := store.CheckName(string(text)); err != nil {
		return fmt.Errorf("read a status: %w", err)
	}
	*s = Status{name: string(text)}
	return nil
}

// On returns the same status, in the store of a client. Use it for a status that came as an argument.
func (s Status) On(p interface{ Status(name string) Status }) Status { return p.Status(s.name) }

// Report is the newest report.
type Report struct {
	Token cluster.Token   // under which it was reported
	Seq   uint64          // grows by one with each report
	Value json.RawMessage // see Decode
}

// Decode reads the value.
func (r Report) Decode(into any) error {
	if err := json.Unmarshal(r.Value, into); err != nil {
		return fmt.Errorf("decode a status: %w", err)
	}
	return nil
}

// document is the stored report.
type document struct {
	Token cluster.Token   `json:"token"`
	Seq   uint64          `json:"seq"`
	Write string          `json:"write"` // random for each report, so that its writer recognizes it
	Value json.RawMessage `json:"value"`
}

func (s Status) key() string { return "status/" + s.name + "/value" }

func (s Status) check() error {
	if s.docs == nil {
		return errors.New("it belongs to no store: get it from a member or a client, or use On")
	}
	return store.CheckName(s.name)
}

// Put reports a value, as JSON, under a token. It returns nil if the report is stored, or was. See the package comment.
func (s Status) Put(ctx context.Context, token cluster.Token, value any) error {
	data, err := s.encode(value)
	if err == nil {
		err = s.put(ctx, document{Token: token, Write: rand.Text(), Value: data})
	}
	if err != nil {
		return fmt.Errorf("report status %q: %w", s.name, err)
	}
	return nil
}

func (s Status) encode(value any) (json.RawMessage, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	if len(data) > MaxValue {
		return nil, fmt.Errorf("the value has %d bytes, at most %d: keep it elsewhere and report where: %w", len(data),
			MaxValue, store.ErrTooLarge)
	}
	return data, nil
}

// put retries until the report is stored or refused. In doubt it reads.
func (s Status) put(ctx context.Context, d document) error {
	var doubt error
	for {
		now, version, err := s.read(ctx)
		switch {
		case err != nil && doubt != nil:
			return errors.Join(doubt, err)
		case err != nil:
			return err
		case now.Write == d.Write:
			return nil
		case now.Token > d.Token:
			return fmt.Errorf("token %d after %d: %w", d.Token, now.Token, ErrStale)
		}
		d.Seq = now.Seq + 1
		data, err := json.Marshal(d)
		if err != nil {
			return err
		}
		_, err = s.docs.Put(ctx, store.Doc{Key: s.key(), Value: data, Version: version})
		switch {
		case err == nil:
			return nil
		case errors.Is(err, store.ErrUnknown):
			doubt = err
		case !errors.Is(err, store.ErrConflict):
			return errors.Join(doubt, err)
		}
	}
}

func (s Status) read(ctx context.Context) (document, store.Version, error) {
	raw, err := s.docs.Get(ctx, s.key())
	if errors.Is(err, store.ErrNotFound) {
		return document{}, "", nil
	}
	if err != nil {
		return document{}, "", err
	}
	var d document
	if err := json.Unmarshal(raw.Value, &d); err != nil {
		return document{}, "", fmt.Errorf("the document %s is none of ours: %w", s.key(), err)
	}
	return d, raw.Version, nil
}

// Get returns the newest report, or ErrNone.
func (s Status) Get(ctx context.Context) (Report, error) {
	if err := s.check(); err != nil {
		return Report{}, fmt.Errorf("read status %q: %w", s.name, err)
	}
	d, _, err := s.read(ctx)
	if err == nil && d.Seq == 0 {
		err = ErrNone
	}
	if err != nil {
		return Report{}, fmt.Errorf("read status %q: %w", s.name, err)
	}
	return Report{Token: d.Token, Seq: d.Seq, Value: bytes.Clone(d.Value)}, nil
}

// pause is the polling interval: without watches, and with them, because a hint may get lost.
const (
	pauseWithout = 250 * time.Millisecond
	pauseWith    = 5 * time.Second
)

// Follow yields the newest report and each later one that it sees, until ctx ends or the loop is left. While the store
// does not answer it yields the error, from time to time, and continues; the last error is that of ctx.
func (s Status) Follow(ctx context.Context) iter.Seq2[Report, error] {
	return func(yield func(Report, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		hints := wait.Watch(ctx, s.docs, "status/"+s.name+"/")
		var last Report
		for {
			r, err := s.Get(ctx)
			switch {
			case ctx.Err() != nil:
				yield(Report{}, fmt.Errorf("follow status %q: %w", s.name, context.Cause(ctx)))
				return
			case errors.Is(err, ErrNone) || err == nil && r.Seq <= last.Seq:
			case err != nil:
				if !yield(Report{}, err) {
					return
				}
			default:
				if last = r; !yield(r, nil) {
					return
				}
			}
			pause := pauseWithout
			if hints.Sent() {
				pause = pauseWith
			}
			hints.Or(ctx, pause, nil, nil)
		}
	}
}
