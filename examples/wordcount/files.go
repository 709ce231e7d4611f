package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/work"
)

// words counts below a directory. The results of a job lie in results/JOB: chunks/*.txt and chunks.json of split,
// counts/*.json of count, total.json of sum. Every file appears at once, whole, and says the same whoever writes it:
// that is why a run may be broken off anywhere, and done again by another member, even while the first has not noticed
// yet.
type words struct{ root *os.Root }

// place is where the results of a job lie.
func place(g *rota.Grant, name ...string) string {
	return path.Join(append([]string{"results", string(g.Job)}, name...)...)
}

func chunkName(i int) string { return fmt.Sprintf("%05d", i) }

// exists tells whether a result is there.
func (w words) exists(name string) (bool, error) {
	_, err := w.root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// put makes a result appear whole. The name on the way is of this grant alone: no other has both its partition and its
// token.
func (w words) put(g *rota.Grant, name string, data []byte) error {
	if err := w.root.MkdirAll(path.Dir(name), 0o750); err != nil {
		return err
	}
	onTheWay := fmt.Sprintf("%s.%s.%d", name, strings.ReplaceAll(g.Key, ":", "-"), g.Token)
	if err := w.root.WriteFile(onTheWay, data, 0o640); err != nil {
		return err
	}
	return w.root.Rename(onTheWay, name)
}

func (w words) putJSON(g *rota.Grant, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.put(g, name, append(data, '\n'))
}

func (w words) getJSON(name string, v any) error {
	data, err := w.root.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// sleep makes work slow enough to be watched.
func sleep(ctx context.Context, pause work.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Duration(pause)):
		return nil
	}
}
