package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
)

// Kept is a file with what is assigned to a member and keeps on store loss. With it, a member that starts while the
// store is away runs that until the store answers; everything else waits. One process at a time may use a file. Its
// methods may be called from any goroutine.
type Kept struct {
	path   string
	member cluster.MemberID

	mu      sync.Mutex
	grants  []*protocol.Grant // as they were read
	ran     int               // tasks that ran while the store was away
	version uint64            // of the assignment that was written last
	written []byte
}

// keptFormat is the version of the file.
const keptFormat = 1

// keptFile is what is in the file.
type keptFile struct {
	Format int               `json:"format"`
	Member cluster.MemberID  `json:"member"`
	Grants []*protocol.Grant `json:"grants"`
}

// OpenKept reads the file of a member. The file need not exist yet.
func OpenKept(path string, member cluster.MemberID) (*Kept, error) {
	k := &Kept{path: path, member: member}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what the member keeps: %w", err)
	}
	var f keptFile
	switch err := json.Unmarshal(data, &f); {
	case err != nil:
		return nil, fmt.Errorf("read what the member keeps: %s is damaged: %w; try: remove it", path, err)
	case f.Format > keptFormat:
		return nil, fmt.Errorf("read what the member keeps: %s has format %d, and this Rota reads up to %d; try: a newer rota", path, f.Format, keptFormat)
	case f.Member != member:
		return nil, fmt.Errorf("read what the member keeps: %s is of the member %q; try: another directory", path,
			f.Member)
	case slices.ContainsFunc(f.Grants, func(g *protocol.Grant) bool { return g == nil || g.Spec == nil }):
		return nil, fmt.Errorf("read what the member keeps: %s is damaged: a task has no spec; try: remove it", path)
	}
	k.grants, k.written = f.Grants, data
	return k, nil
}

// Tasks is how many tasks the file had when it was opened.
func (k *Kept) Tasks() int { return len(k.grants) }

// Run runs the tasks of the file until ctx ends. Of the config it takes what tasks need; it neither runs the publisher
// nor looks at the store.
func (k *Kept) Run(ctx context.Context, c Config) error {
	if len(k.grants) == 0 {
		<-ctx.Done()
		return nil
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	k.mu.Lock()
	k.ran = len(k.grants)
	k.mu.Unlock()
	w, err := openWitness(c.WitnessPath, c.Member, c.Logger)
	if err != nil {
		return err
	}
	defer w.close()
	s, err := supervisor.New(k.supervised(c, w))
	if err != nil {
		return fmt.Errorf("run what the member keeps: %w", err)
	}
	c.Logger.Warn("runs what was assigned to it before and keeps on store loss, until the store answers", "tasks",
		len(k.grants))
	assignments := make(chan protocol.Assignment, 1)
	assignments <- protocol.Assignment{Grants: k.grants, ValidUntil: math.MaxInt64}
	return s.Run(ctx, assignments)
}

func (k *Kept) supervised(c Config, w *witness) supervisor.Config {
	var samples supervisor.Publisher
	if c.Publisher != nil {
		samples = c.Publisher
	}
	return supervisor.Config{
		Types: c.Types, Member: c.Member, Clock: c.Clock, Publisher: samples, Logger: c.Logger,
		Journal: func(r journal.Record) {
			c.Logger.Warn("while the store is away", "kind", string(r.Kind), "task", r.Partition, "message", r.Message)
		},
		Report: func(uint64, []protocol.Report) {}, // there is nobody to report to
		Events: supervisor.Events{
			Started: func(ev supervisor.RunStarted) {
				w.note(ev.At, "start", ev.Partition, ev.Token)
				if c.Events.Started != nil {
					c.Events.Started(ev)
				}
			},
			Stopped: func(ev supervisor.RunStopped) {
				w.note(ev.At, "stop", ev.Partition, ev.Token)
				if c.Events.Stopped != nil {
					c.Events.Stopped(ev)
				}
			},
		},
	}
}

// took is how many tasks ran while the store was away, once.
func (k *Kept) took() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.ran
	k.ran = 0
	return n
}

// write keeps an assignment, where it differs from the one before in what keeps on store loss.
func (k *Kept) write(a protocol.Assignment) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if a.Version == k.version {
		return nil
	}
	f := keptFile{Format: keptFormat, Member: k.member, Grants: []*protocol.Grant{}}
	for _, g := range a.Grants {
		if supervisor.KeepsOnStoreLoss(g.Spec) {
			f.Grants = append(f.Grants, g)
		}
	}
	data, err := json.MarshalIndent(f, "", " ")
	if err == nil && !bytes.Equal(data, k.written) {
		err = replaceFile(k.path, data)
	}
	if err != nil {
		return fmt.Errorf("keep what is assigned: %w", err)
	}
	k.version, k.written = a.Version, data
	return nil
}

// replaceFile writes a file so that a reader, also one after a loss of power, finds the old content or the new one.
func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp-")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is the one that matters
	}
	return err
}

// keeping passes assignments on, and keeps each in the file afterwards. After an announced restart the file stays as it
// is: the tasks wait for this member.
func (n *Node) keeping(all *sync.WaitGroup, in <-chan protocol.Assignment) <-chan protocol.Assignment {
	if n.c.Kept == nil {
		return in
	}
	out := make(chan protocol.Assignment, 1)
	all.Go(func() {
		defer close(out)
		for a := range in {
			select {
			case <-out: // nobody has taken it, and it is old
			default:
			}
			out <- a
			if n.leaving.Load() && n.c.Hold > 0 {
				continue
			}
			if err := n.c.Kept.write(a); err != nil {
				n.c.Logger.Error("a start while the store is away would not find what is assigned now", "err", err)
			}
		}
	})
	return out
}

// keep runs what the member keeps until the function that it returns is called.
func (n *Node) keep() (end func()) {
	if n.c.Kept == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c := n.c
		c.WitnessPath = "" // it is open
		c.Events.Started = func(ev supervisor.RunStarted) { n.witness.note(ev.At, "start", ev.Partition, ev.Token) }
		c.Events.Stopped = func(ev supervisor.RunStopped) { n.witness.note(ev.At, "stop", ev.Partition, ev.Token) }
		if err := n.c.Kept.Run(ctx, c); err != nil {
			n.c.Logger.Error("run what the member keeps", "err", err)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// kept journals what ran before the store answered.
func (n *Node) kept() {
	if n.c.Kept == nil {
		return
	}
	if ran := n.c.Kept.took(); ran > 0 {
		n.record(journal.Record{Kind: journal.StoreBack,
			Message: fmt.Sprintf("until then %d tasks that keep on store loss ran as they were assigned before", ran)})
	}
}
