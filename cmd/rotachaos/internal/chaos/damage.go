package chaos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store/file"
)

// probeName is that of the member that is started on a damaged store.
const probeName = "probe"

// harm is a way to damage a store on which nobody works.
type harm struct {
	name string
	file string
	do   func(f *os.File, size int64) error
}

// harms are the ways. What they do is bad enough that something acknowledged is gone, but for the last.
func harms() []harm {
	return []harm{
		{"the second half of the journal is cut off", "rota.db-wal", func(f *os.File, size int64) error { return f.Truncate(size / 2) }},
		{"the last page of the database is zero", "rota.db", func(f *os.File, size int64) error { return overwrite(f, size-4096, make([]byte, 4096)) }},
		{"the last third of the database is cut off", "rota.db", func(f *os.File, size int64) error { return f.Truncate(size * 2 / 3) }},
		{"the header of the database is garbage", "rota.db", func(f *os.File, _ int64) error { return overwrite(f, 0, []byte(strings.Repeat("garbage ", 8))) }},
		{"a page in the middle of the database is garbage", "rota.db", func(f *os.File, size int64) error {
			return overwrite(f, size/2/4096*4096, []byte(strings.Repeat("garbage ", 512)))
		}},
		{"the tail of the journal is garbage", "rota.db-wal", func(f *os.File, size int64) error {
			return overwrite(f, size*3/4, []byte(strings.Repeat("garbage ", int(size/4)/8)))
		}},
	}
}

func overwrite(f *os.File, at int64, data []byte) error {
	_, err := f.WriteAt(data, max(at, 0))
	return err
}

// damage stops everything, damages the store, and sees whether a member that starts on it notices. Then the store is restored.
func (c *Cluster) damage(ctx context.Context) (string, error) {
	if err := c.undo(true); err != nil {
		return "", err
	}
	if err := c.murder(c.those(anyone)...); err != nil {
		return "", err
	}
	before, err := c.headNow(ctx)
	if err != nil {
		return "", fmt.Errorf("read the store before it is damaged: %w", err)
	}
	c.await("the log was read to its end", func() bool { return c.follower.now().Index() == before.Index() })
	c.follower.close()
	backup := filepath.Join(c.dir, "backup")
	if err := copyDir(c.storeDir(), backup); err != nil {
		return "", err
	}
	h, err := c.spoil()
	if err != nil {
		return "", err
	}
	verdict, err := c.probe(ctx, before)
	if err != nil {
		return "", err
	}
	if err := c.restore(ctx, backup); err != nil {
		return "", err
	}
	return h + ": " + verdict, nil
}

// spoil does one harm after the other, in turn.
func (c *Cluster) spoil() (string, error) {
	for range len(harms()) {
		h := harms()[c.damaged%len(harms())]
		c.damaged++
		path := filepath.Join(c.storeDir(), h.file)
		info, err := os.Stat(path)
		if err != nil || info.Size() < 8192 {
			continue // there is no such file now
		}
		// The store is not open in this process: closing this descriptor drops no lock of it.
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return "", fmt.Errorf("damage the store: %w", err)
		}
		return h.name, joinClose(h.do(f, info.Size()), f)
	}
	return "", fmt.Errorf("damage the store: it has no files")
}

func joinClose(err error, f *os.File) error {
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// probe starts a member on the damaged store and says what came of it. It may run no task: what it would do is undone when the store is restored.
func (c *Cluster) probe(ctx context.Context, before cluster.Value) (string, error) {
	p, err := c.launch(probeName)
	if err != nil {
		return "", err
	}
	p.expected = true
	end := time.Now().Add(2*c.options.TTL + 2*time.Second)
	c.await("the probe refuses or joins", func() bool { return p.ended() || c.isMember(p) || time.Now().After(end) })
	if err := c.murder(p); err != nil {
		return "", err
	}
	after, err := c.headNow(ctx)
	words := p.lastWords()
	switch {
	case strings.Contains(words, "damaged"):
		return "refused: " + words, nil
	case err == nil && after.Index() >= before.Index() && c.holds(ctx, before):
		return "nothing was lost", nil
	case p.err == nil || strings.Contains(words, "joined"):
		c.surprises = append(c.surprises, fmt.Sprintf("STORE the log ended at %s, was damaged, now ends at %s, and a member took it: %s", before.Index(), after.Index(), words))
		return "LOST IN SILENCE", nil
	}
	return "not refused clearly: " + words, nil
}

// holds tells whether the store still leads to the value that it led to before.
func (c *Cluster) holds(ctx context.Context, before cluster.Value) bool {
	s, err := file.Open(ctx, c.storeDir(), file.Options{ReadOnly: true})
	if err != nil {
		return false
	}
	defer func() { _ = s.Close() }() // it was only read
	page, err := s.Read(ctx, uint64(before.Index()), 1)
	return err == nil && (len(page.Records) > 0 || page.Head == uint64(before.Index()))
}

// headNow folds the whole log.
func (c *Cluster) headNow(ctx context.Context) (cluster.Value, error) {
	s, err := file.Open(ctx, c.storeDir(), file.Options{ReadOnly: true})
	if err != nil {
		return cluster.Value{}, err
	}
	defer func() { _ = s.Close() }() // it was only read
	f := &follower{store: s, note: c.forget, known: map[cluster.PartitionID]known{}}
	return f.value, f.read(ctx)
}

// restore puts the copy back and starts three members again.
func (c *Cluster) restore(ctx context.Context, backup string) error {
	if err := copyDir(backup, c.storeDir()); err != nil {
		return err
	}
	if err := c.follower.open(ctx, c.storeDir()); err != nil {
		return fmt.Errorf("open the restored store: %w", err)
	}
	for range 3 {
		if _, err := c.join(c.absentName()); err != nil {
			return err
		}
	}
	return nil
}
