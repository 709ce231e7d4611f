package memory

import (
	"strconv"
	"sync"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/logqueue"
)

// The maximum sizes; above them, calls return ErrTooLarge.
const (
	MaxRecord   = 16 << 20  // bytes of a document or of a record of the log
	MaxSnapshot = 256 << 20 // bytes of a snapshot
)

// Server is the state shared by handles. The zero value is not usable; see New.
type Server struct {
	mu      sync.Mutex
	docs    ordered.Map[string, doc]
	version uint64 // grows with every write of a document
	log     log
	room    room
	watches map[*watch]struct{}
	queues  *logqueue.Store
}

type doc struct {
	value   []byte
	version uint64
	session *session // nil: stays until deleted
}

// New returns an empty server.
func New() *Server {
	queues := logqueue.New(&journals{flows: make(map[string]*flowLog)})
	return &Server{watches: make(map[*watch]struct{}), room: newRoom(), queues: queues}
}

// Open returns a new handle.
func (s *Server) Open() *Store {
	return &Store{server: s, gone: make(chan struct{}), sessions: make(map[*session]struct{})}
}

// put writes a document if its version is current. s.mu is held.
func (s *Server) put(d store.Doc, owner *session) (store.Version, error) {
	old, ok := s.docs.Get(d.Key)
	if old.current(ok) != d.Version {
		return "", store.ErrConflict
	}
	s.version++
	stored := doc{value: clone(d.Value), version: s.version, session: owner}
	s.docs.Set(d.Key, stored)
	s.hintDocs(d.Key)
	return stored.current(true), nil
}

// drop removes what goes with a session. s.mu is held.
func (s *Server) drop(owner *session) {
	var keys []string
	s.docs.Each(func(key string, d doc) bool {
		if d.session == owner {
			keys = append(keys, key)
		}
		return true
	})
	for _, key := range keys {
		s.docs.Remove(key)
		s.hintDocs(key)
	}
}

// current is the version as callers see it.
func (d doc) current(exists bool) store.Version {
	if !exists {
		return ""
	}
	return store.Version(strconv.FormatUint(d.version, 36))
}

func (d doc) public(key string) store.Doc {
	return store.Doc{Key: key, Value: clone(d.value), Version: d.current(true)}
}

func clone(b []byte) []byte { return append(make([]byte, 0, len(b)), b...) }
