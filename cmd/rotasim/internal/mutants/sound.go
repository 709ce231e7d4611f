package mutants

import (
	"context"
	"fmt"
	"strings"
	"sync"

	flaw "github.com/rota-run/rota/internal/mutant"
)

// sound is the program without any flaw. What it is accused of by the same arguments proves nothing about a flaw.
type sound struct {
	program string

	mu   sync.Mutex
	said map[string]string // by arguments: what is broken there, "" for nothing
}

// newSound builds it as the others are built, from a file that nothing is changed in.
func newSound(ctx context.Context, root, dir string) (*sound, error) {
	program, err := flaw.New("no flaw", "cluster/apply.go").Build(ctx, root, dir, "./cmd/rotasim")
	if err != nil {
		return nil, fmt.Errorf("the program without a flaw: %w", err)
	}
	return &sound{program: program, said: make(map[string]string)}, nil
}

// passes is an error where a layer finds something in the program without a flaw too: a bug of Rota, or a false alarm of the layer.
func (s *sound) passes(ctx context.Context, l layer) error {
	args := strings.Join(l.args, " ")
	s.mu.Lock()
	why, known := s.said[args]
	s.mu.Unlock()
	if !known {
		var err error
		if why, err = l.try(ctx, s.program); err != nil {
			return fmt.Errorf("the program without a flaw: %w", err)
		}
		s.mu.Lock()
		s.said[args] = why
		s.mu.Unlock()
	}
	if why != "" {
		return fmt.Errorf("rotasim %s finds this without the flaw too: %s", args, why)
	}
	return nil
}
