package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"

	flaw "github.com/rota-run/rota/internal/proof/mutant"
)

// program is rotasim with every flaw of the table in it. Its environment chooses one, or none.
type program struct {
	protocol string
	flaws    flaw.Set
	root     string // of the source
	dir      string // of what is built
	path     string

	mu    sync.Mutex
	said  map[string]string                 // by layer: what is broken there without a flaw, "" for nothing
	built map[string]func() (string, error) // by package: its tests
}

// build builds it in dir. Without a flaw it does what this program does.
func build(ctx context.Context, protocol, dir string) (*program, error) {
	root, err := flaw.Root(ctx)
	if err != nil {
		return nil, err
	}
	p := &program{protocol: protocol, flaws: Table(protocol), root: root, dir: dir, said: make(map[string]string), built: make(map[string]func() (string, error))}
	if p.path, err = p.flaws.Build(ctx, root, dir, "./proof/rotasim"); err != nil {
		return nil, err
	}
	this, err := os.Executable()
	if err != nil {
		return nil, err
	}
	want, err := p.digest(ctx, this, os.Environ())
	if err != nil {
		return nil, err
	}
	if got, err := p.digest(ctx, p.path, p.flaws.Sound()); got != want || err != nil {
		return nil, fmt.Errorf("the program with all flaws switched off runs seed 0 to digest %s, this one to %s: was this one built from the source in %s? %w", got, want, root, err)
	}
	return p, nil
}

// digest is the digest that a program prints for a seed.
func (p *program) digest(ctx context.Context, path string, environ []string) (string, error) {
	cmd := exec.CommandContext(ctx, path, "--protocol", p.protocol, "--seeds", "1", "--hours", "0.2", "--again", "0", "--json") //nolint:gosec // this program, or the one that it built
	cmd.Env = environ
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run a seed without a flaw: %w: %s", err, out)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	var r struct{ Digest string }
	if err := json.Unmarshal(lines[len(lines)-1], &r); err != nil {
		return "", fmt.Errorf("read the digest of a seed: %w", err)
	}
	return r.Digest, nil
}

// passes is an error where a layer finds something in the program without a flaw too: a bug of Rota, or a false alarm of the layer. Such a
// proof says nothing about a flaw.
func (p *program) passes(ctx context.Context, l layer) error {
	name := l.String()
	p.mu.Lock()
	why, known := p.said[name]
	p.mu.Unlock()
	if !known {
		var err error
		if why, err = p.try(ctx, l, p.flaws.Sound()); err != nil {
			return fmt.Errorf("the program without a flaw: %w", err)
		}
		p.mu.Lock()
		p.said[name] = why
		p.mu.Unlock()
	}
	if why != "" {
		return fmt.Errorf("%s finds this without the flaw too: %s", name, why)
	}
	return nil
}
