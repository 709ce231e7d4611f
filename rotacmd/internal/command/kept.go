package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/store"
)

// openPause is between two attempts to open a store that is away.
const openPause = time.Second

// errStopped ends a member that was told to stop before its store answered.
var errStopped = errors.New("told to stop before the store answered")

// keepIn makes the member keep on disk what it must run without a store.
func (c *config) keepIn(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return failed("another --state-dir", "%w", err)
	}
	sum := sha256.Sum256([]byte(storeurl.Hide(c.store)))
	var err error
	c.node.Kept, err = node.OpenKept(filepath.Join(dir, string(c.node.Member)+"-"+hex.EncodeToString(sum[:4])+".json"), c.node.Member)
	return err
}

// openMember opens the store. A member that keeps what it runs waits for a store that is away, and runs that meanwhile.
func (c *config) openMember(ctx context.Context) (store.Full, error) {
	st, err := openStore(ctx, c.env, c.store, member)
	var f *fault
	if err == nil || c.node.Kept == nil || errors.As(err, &f) && f.usage {
		return st, err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	end, err2 := c.keep(ctx)
	if err2 != nil {
		return nil, err2
	}
	said := ""
	for {
		if text := firstLine(err.Error()); text != said {
			said = text
			c.say("waits for the store: %s · %s with on_store_loss: keep meanwhile", text, many(c.node.Kept.Tasks(), "task"))
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(end(), errStopped)
		case <-time.After(openPause):
		}
		if st, err = openStore(ctx, c.env, c.store, member); err == nil {
			return st, end() // before it takes part: what it kept is not what it is assigned
		}
	}
}

// keep runs what the member keeps until the function that it returns is called.
func (c *config) keep(ctx context.Context) (end func() error, err error) {
	config := c.node
	config.Publisher, _, err = c.openPublishers(c.publish)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	published, ran := make(chan error, 1), make(chan error, 1)
	tail, flush := context.WithCancel(context.WithoutCancel(ctx))
	if config.Publisher == nil {
		published <- nil
	} else {
		go func() { published <- config.Publisher.Run(tail) }()
	}
	go func() { ran <- c.node.Kept.Run(ctx, config) }()
	return func() error {
		cancel()
		err := <-ran
		flush()
		return errors.Join(err, <-published)
	}, nil
}
