package nats

import (
	"context"
	"errors"
	"fmt"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// markerTTL is how long the stream keeps the message that says that a document is gone, for watches.
const markerTTL = "3600s"

// Get implements store.Docs. It reads at the stream's leader; with replicas, the cluster confirms the result.
func (s *Store) Get(ctx context.Context, key string) (_ store.Doc, err error) {
	defer driver.Wrap(&err, "get %q", key)
	if err := store.CheckKey(key); err != nil {
		return store.Doc{}, err
	}
	if err := s.enter(ctx); err != nil {
		return store.Doc{}, err
	}
	m, err := s.current(ctx, s.names.doc(key))
	if err != nil {
		return store.Doc{}, err
	}
	if m.marker() {
		return store.Doc{}, store.ErrNotFound
	}
	return store.Doc{Key: key, Value: m.data, Version: m.version()}, nil
}

// Put implements store.Docs. The written document is tied to no session, even if the previous one was.
func (s *Store) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	seq, err := s.put(ctx, d, nil)
	if err != nil {
		return "", fmt.Errorf("put %q: %w", d.Key, err)
	}
	return versionOf(seq), nil
}

func (s *Store) put(ctx context.Context, d store.Doc, h nc.Header) (uint64, error) {
	if err := s.checkDoc(ctx, d); err != nil {
		return 0, err
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	subject := s.names.doc(d.Key)
	if d.Version == "" {
		return s.create(ctx, subject, h, d.Value)
	}
	expected, ok := sequence(d.Version)
	if !ok {
		return 0, store.ErrConflict
	}
	seq, err := s.swap(ctx, subject, expected, h, d.Value)
	for errors.Is(err, errMoved) {
		var m message
		if m, err = s.current(ctx, subject); err != nil {
			return 0, driver.NotDone(err)
		}
		if m.marker() || m.version() != d.Version {
			return 0, store.ErrConflict
		}
		seq, err = s.swap(ctx, subject, m.seq, h, d.Value) // the session has repeated the write of d.Version
	}
	return seq, err
}

func (s *Store) checkDoc(ctx context.Context, d store.Doc) error {
	if err := store.CheckKey(d.Key); err != nil {
		return err
	}
	if err := s.enterChange(ctx); err != nil {
		return err
	}
	return s.checkSize(d.Value)
}

// create writes where there is nothing, or only a marker.
func (s *Store) create(ctx context.Context, subject string, h nc.Header, data []byte) (uint64, error) {
	seq, err := s.swap(ctx, subject, 0, h, data)
	for errors.Is(err, errMoved) {
		var m message
		if m, err = s.current(ctx, subject); err != nil {
			return 0, driver.NotDone(err)
		}
		if !m.marker() {
			return 0, store.ErrConflict
		}
		seq, err = s.swap(ctx, subject, m.seq, h, data)
	}
	return seq, err
}

// Delete implements store.Docs. A marker replaces the document for an hour.
func (s *Store) Delete(ctx context.Context, key string, v store.Version) (err error) {
	defer driver.Wrap(&err, "delete %q", key)
	if err := s.checkDoc(ctx, store.Doc{Key: key}); err != nil {
		return err
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	subject := s.names.doc(key)
	err = errMoved
	if expected, ok := sequence(v); ok {
		err = s.mark(ctx, subject, expected)
	}
	for errors.Is(err, errMoved) {
		m, readErr := s.current(ctx, subject)
		switch {
		case readErr != nil:
			return driver.NotDone(readErr)
		case m.marker():
			return store.ErrNotFound
		case m.version() != v:
			return store.ErrConflict
		}
		err = s.mark(ctx, subject, m.seq)
	}
	return err
}

// mark puts a marker in the place of the message at expected.
func (s *Store) mark(ctx context.Context, subject string, expected uint64) error {
	_, err := s.swap(ctx, subject, expected, nc.Header{headerOperation: {"PURGE"}, headerTTL: {markerTTL}}, nil)
	return err
}
