package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
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

// harms are the ways: ends that are missing or garbage, as after a crash of a disk that did not keep what it had
// confirmed, and worse.
func harms() []harm {
	return []harm{
		{"the last bytes of the journal are cut off", "rota.db-wal",
			func(f *os.File, size int64) error { return f.Truncate(size - 100) }},
		{"the second half of the journal is cut off", "rota.db-wal",
			func(f *os.File, size int64) error { return f.Truncate(size / 2) }},
		{"the journal is empty", "rota.db-wal", func(f *os.File, _ int64) error { return f.Truncate(0) }},
		{"the tail of the journal is garbage", "rota.db-wal", func(f *os.File, size int64) error {
			return overwrite(f, size*3/4, []byte(strings.Repeat("garbage ", int(size/4)/8)))
		}},
		{"the last page of the database is zero", "rota.db",
			func(f *os.File, size int64) error { return overwrite(f, size-4096, make([]byte, 4096)) }},
		{"the last bytes of the database are cut off", "rota.db",
			func(f *os.File, size int64) error { return f.Truncate(size - 100) }},
		{"the last third of the database is cut off", "rota.db",
			func(f *os.File, size int64) error { return f.Truncate(size * 2 / 3) }},
		{"the header of the database is garbage", "rota.db",
			func(f *os.File, _ int64) error { return overwrite(f, 0, []byte(strings.Repeat("garbage ", 8))) }},
		{"a page in the middle of the database is garbage", "rota.db", func(f *os.File, size int64) error {
			return overwrite(f, size/2/4096*4096, []byte(strings.Repeat("garbage ", 512)))
		}},
	}
}

func overwrite(f *os.File, at int64, data []byte) error {
	_, err := f.WriteAt(data, max(at, 0))
	return err
}

// damage stops everything, damages the store, and sees whether a member that starts on it notices. Then the store is
// restored.
func (c *Cluster) damage(ctx context.Context) (string, error) {
	if err := c.undo(true); err != nil {
		return "", err
	}
	if err := c.killProcesses(c.those(anyone)...); err != nil {
		return "", err
	}
	before, err := c.headNow(ctx)
	if err != nil {
		return "", fmt.Errorf("read the store before it is damaged: %w", err)
	}
	c.await("the log was read to its end",
		func() bool { return c.follower.observe != nil || c.follower.now().Index() == before.Index() })
	c.follower.close()
	backup := filepath.Join(c.dir, "backup")
	if err := copyDir(c.storeDir(), backup); err != nil {
		return "", err
	}
	h, err := c.spoil()
	if err != nil {
		return "", err
	}
	verdict, err := c.probe(ctx, backup, before)
	if err != nil {
		return "", err
	}
	if err := c.restore(ctx, backup); err != nil {
		return "", err
	}
	return h + ": " + verdict, nil
}

// spoil does one harm after the other, in an order that the seed gives.
func (c *Cluster) spoil() (string, error) {
	if len(c.harms) == 0 {
		c.harms = harms()
		c.chance.Shuffle(len(c.harms), func(i, j int) { c.harms[i], c.harms[j] = c.harms[j], c.harms[i] })
	}
	for len(c.harms) > 0 {
		h := c.harms[0]
		c.harms = c.harms[1:]
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
	return "nothing that could be damaged", nil
}

func joinClose(err error, f *os.File) error {
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// probe starts a member on the damaged store and says what came of it: it must refuse clearly, or go on with all that
// was acknowledged. It may run no task: what it would do is undone when the store is restored.
func (c *Cluster) probe(ctx context.Context, backup string, before cluster.Value) (string, error) {
	p, err := c.launch(probeName)
	if err != nil {
		return "", err
	}
	p.expected = true
	end := time.Now().Add(2*c.options.TTL + 2*time.Second)
	c.await("the probe refuses or joins", func() bool { return p.Ended() || c.isMember(p) || time.Now().After(end) })
	joined := c.isMember(p)
	if err := c.killProcesses(p); err != nil {
		return "", err
	}
	words := p.lastWords()
	lost, invented, err := c.differences(ctx, backup, before)
	switch {
	case strings.Contains(words, "damaged") && !joined:
		return "refused: " + words, nil
	case err == nil && lost+invented == 0 && joined:
		return "nothing was lost", nil
	}
	text := fmt.Sprintf("the log ended at %s; after that %d entries are gone, %d others than before, read: %v; a member joined: %v, and said: %s",
		before.Index(), lost, invented, err, joined, words)
	c.surprises = append(c.surprises, "STORE damaged and neither refused nor whole: "+text)
	return "NEITHER REFUSED NOR WHOLE: " + text, nil
}

// differences counts the entries that the copy has and the store has not any more, and those that are other ones.
func (c *Cluster) differences(ctx context.Context, backup string,
	before cluster.Value) (lost, invented int, err error) {
	want, _, err := recordsOf(ctx, backup)
	if err != nil {
		return 0, 0, fmt.Errorf("read the copy: %w", err)
	}
	have, snapshot, err := recordsOf(ctx, c.storeDir())
	if err != nil {
		return 0, 0, err
	}
	for index, data := range want {
		switch got, ok := have[index]; {
		case index <= snapshot: // the member that joined has taken one
		case !ok:
			lost++
		case got != data:
			invented++
		}
	}
	for index := range have {
		if _, ok := want[index]; !ok && index <= uint64(before.Index()) {
			invented++
		}
	}
	return lost, invented, nil
}

// recordsOf are all records of a store's log behind its snapshot, and the index of that.
func recordsOf(ctx context.Context, dir string) (out map[uint64]string, snapshot uint64, err error) {
	s, err := file.Open(ctx, dir, file.Options{ReadOnly: true})
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = s.Close() }() // it was only read
	if r, err := s.Snapshot(ctx); err == nil {
		snapshot = r.Index
	} else if !errors.Is(err, store.ErrNotFound) {
		return nil, 0, err
	}
	out = map[uint64]string{}
	for after := snapshot; ; {
		page, err := s.Read(ctx, after, 500)
		if err != nil {
			return nil, 0, err
		}
		for _, r := range page.Records {
			out[r.Index], after = string(r.Data), r.Index
		}
		if after >= page.Head {
			return out, snapshot, nil
		}
	}
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
	if err := c.follower.open(ctx, c.openLog); err != nil {
		return fmt.Errorf("open the restored store: %w", err)
	}
	for range 3 {
		if _, err := c.join(c.absentName()); err != nil {
			return err
		}
	}
	return nil
}
