package kafka

import (
	"context"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/logdocs"
)

var (
	_ store.Store      = (*Store)(nil)
	_ store.Docs       = (*Store)(nil)
	_ store.Log        = (*Store)(nil)
	_ store.Watcher    = (*Store)(nil)
	_ store.LogWatcher = (*Store)(nil)
	_ store.Seeder     = (*Store)(nil)
	_ store.Group      = (*Store)(nil)
)

// documents is logdocs.Store, whose name is ours.
type documents = logdocs.Store

// Store is one handle, with its own connections. It is safe for concurrent use.
type Store struct {
	*topicLog
	*documents
	*group
	*queues
	line *line
	end  context.CancelFunc
}

// Foreign is the number of records skipped by this handle that rota did not write.
func (s *Store) Foreign() int64 { return s.line.foreign.Load() + s.Skipped() }

// Close implements store.Store. It does not wait for requests in flight: a frozen broker never answers them.
func (s *Store) Close() error {
	s.line.mu.Lock()
	if s.line.closed {
		s.line.mu.Unlock()
		return nil
	}
	s.line.closed = true
	s.line.mu.Unlock()
	err := s.documents.Close()
	s.end()
	s.line.wg.Wait()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.line.client.Close()
	}()
	select {
	case <-closed:
	case <-time.After(closeWait):
		s.line.log.Warn("a request is still in flight: its connection is left to the client")
	}
	return err
}
