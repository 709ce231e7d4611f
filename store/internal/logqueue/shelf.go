package logqueue

import (
	"slices"
	"sync"
)

// shelf keeps the bundles that were used last. The zero value is empty.
type shelf struct {
	mu    sync.Mutex
	have  map[string][]byte
	order []string // the oldest first
	size  int
}

// get returns a bundle, which is not to be changed; nil if it is not there.
func (s *shelf) get(at string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.have[at]
}

func (s *shelf) keep(at string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.have[at] != nil || len(data) > shelfBytes/4 {
		return
	}
	if s.have == nil {
		s.have = make(map[string][]byte)
	}
	s.have[at], s.order = data, append(s.order, at)
	for s.size += len(data); s.size > shelfBytes; {
		s.remove(s.order[0])
	}
}

func (s *shelf) forget(at string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.have[at] != nil {
		s.remove(at)
	}
}

func (s *shelf) remove(at string) {
	s.size -= len(s.have[at])
	delete(s.have, at)
	if i := slices.Index(s.order, at); i >= 0 {
		s.order = slices.Delete(s.order, i, i+1)
	}
}
