package chaos

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
)

// Server is a store on a server that can be killed and started again with its data.
type Server struct {
	Store   string // what members get as --store
	Open    func(ctx context.Context) (Log, error)
	Nodes   int                                    // how many it has, counted from 0
	Kill    func(node int) error                   // as kill -9 does
	Restart func(ctx context.Context, i int) error // a node that was killed
}

// Log is what of a store is looked at while members run.
type Log interface {
	store.Store
	store.Log
}

// storeText is what members get as --store.
func (c *Cluster) storeText() string {
	if s := c.options.Server; s != nil {
		return s.Store
	}
	return "file:" + c.storeDir()
}

// openLog opens the store for reading.
func (c *Cluster) openLog(ctx context.Context) (Log, error) {
	if s := c.options.Server; s != nil {
		return s.Open(ctx)
	}
	return openDirectory(ctx, c.storeDir())
}

func openDirectory(ctx context.Context, dir string) (Log, error) {
	s, err := file.Open(ctx, dir, file.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (c *Cluster) storeDir() string { return filepath.Join(c.dir, "disk", "store") }

// restartTime bounds how long a server may take to come back.
const restartTime = 30 * time.Second

// restartServer kills the server and starts it again at once.
func (c *Cluster) restartServer(ctx context.Context) (string, error) {
	from := c.now()
	if err := c.options.Server.Kill(0); err != nil {
		return "", fmt.Errorf("kill the server: %w", err)
	}
	return "kill -9 the server, and start it again", c.bringBack(ctx, from)
}

// serverAway kills the server; it comes back after a share of the TTL, or long after everything had to stop.
func (c *Cluster) serverAway(ctx context.Context) (string, error) {
	from := c.now()
	c.away = true
	defer func() { c.away = false }()
	if err := c.options.Server.Kill(0); err != nil {
		return "", fmt.Errorf("kill the server: %w", err)
	}
	d := c.between(20, 250)
	c.pass(d)
	return fmt.Sprintf("no server for %s", d.Round(time.Millisecond)), c.bringBack(ctx, from)
}

func (c *Cluster) bringBack(ctx context.Context, from protocol.Instant) error {
	ctx, cancel := context.WithTimeout(ctx, restartTime)
	defer cancel()
	if err := c.options.Server.Restart(ctx, 0); err != nil {
		return fmt.Errorf("start the server again: %w", err)
	}
	c.await("the server has the store", func() bool { return c.serves(ctx) })
	c.excuse(from, "the server was away")
	return nil
}

// serves reports whether a store can be opened on the server: one that has begun to answer may still be looking for its
// data.
func (c *Cluster) serves(ctx context.Context) bool {
	s, err := c.openLog(ctx)
	if err != nil {
		return false
	}
	_ = s.Close() // nothing was written
	return true
}
