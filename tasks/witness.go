package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/work"
)

type witnessConfig struct {
	Path string `json:"path"`
}

// witnessLine is what one round writes down. Lines of all members on one machine go to one file; the order of lines and their tokens
// show an overlap even if a member was frozen between its check and its write, the times show how long it was.
type witnessLine struct {
	Member    string `json:"member"`
	Token     uint64 `json:"token"`
	Partition string `json:"partition"`
	AtNS      int64  `json:"at_ns"` // clock that advances during suspension, the same for all processes of the machine
	Event     string `json:"event"`
	Item      int64  `json:"item,omitempty"` // of witness-items: which one was done
}

func (o Options) witness() work.Type {
	return work.Type{
		Name: "witness", Doc: "writes down when it acts (for tests of Rota)", Periodic: true, DefaultEvery: defaultEvery,
		New: func(d work.Definition) (work.Runner, error) {
			var c witnessConfig
			if err := decode(d, &c); err != nil {
				return nil, err
			}
			var f faults
			if !filepath.IsAbs(c.Path) {
				f.add("path", "members may run in different directories", "%q is not an absolute path", c.Path)
			}
			return checked(work.RunnerFunc(c.run), f)
		},
	}
}

func (c witnessConfig) run(_ context.Context, g *work.Grant) error { return c.act(g, 0) }

// act writes one line, if the member may act.
func (c witnessConfig) act(g *work.Grant, item int64) (err error) {
	f, err := os.OpenFile(c.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open witness file: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	at := int64(protocol.Now()) // comparable between processes on Linux alone
	line, err := json.Marshal(witnessLine{string(g.Member), uint64(g.Token), string(g.Partition), at, "act", item})
	if err != nil {
		return fmt.Errorf("encode witness line: %w", err)
	}
	line = append(line, '\n')
	if !g.Valid() {
		return fmt.Errorf("act as witness: %w", work.CauseLeaseLost)
	}
	if _, err := f.Write(line); err != nil { // one write with O_APPEND: never mixed with another member's
		return fmt.Errorf("write witness line: %w", err)
	}
	return nil
}
