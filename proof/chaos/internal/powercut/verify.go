package powercut

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
)

// finding is what one look at a store after a cut found.
type finding struct {
	entries  int      // acknowledged ones that were looked for
	docs     int      // the same
	segments int      // of the flow, that were found in their place
	unknown  int      // entries that are there though nobody was told so
	lost     int      // acknowledged entries and documents that are not there
	late     int      // entries acknowledged while the power was being cut
	gone     int      // of these, not there
	faults   []string // all that is wrong
}

func (f *finding) fault(format string, args ...any) {
	f.faults = append(f.faults, fmt.Sprintf(format, args...))
}

// verify compares a store with what writers said. What it finds there counts as acknowledged from now on: it is on the
// disk.
func (l *ledger) verify(ctx context.Context, dir string) (f finding) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := os.Stat(filepath.Join(dir, "rota.db")); errors.Is(err, os.ErrNotExist) && len(l.acked)+len(l.docs)+
		len(l.segments) == 0 {
		return f // it was cut before anything was promised
	}
	f.entries, f.docs = len(l.acked), len(l.docs)
	s, err := file.Open(ctx, dir, file.Options{})
	if err != nil {
		f.fault("the store does not open: %v", err)
		f.lost += len(l.acked)
		return f
	}
	if err := l.verifyLog(ctx, s, &f); err != nil {
		f.fault("%v", err)
	}
	if err := l.verifyDocs(ctx, s, &f); err != nil {
		f.fault("%v", err)
	}
	if err := l.verifyQueue(ctx, s, &f); err != nil {
		f.fault("%v", err)
	}
	if err := s.Close(); err != nil {
		f.fault("%v", err)
	}
	return f
}

// verifyLog folds the log from its snapshot on.
func (l *ledger) verifyLog(ctx context.Context, s *file.Store, f *finding) error {
	v, err := snapshotOf(ctx, s)
	if err != nil {
		return err
	}
	there := map[uint64]string{}
	from := v.Index()
	chains := map[cluster.Index]cluster.Hash{from: v.Chain()}
	for {
		page, err := s.Read(ctx, uint64(v.Index()), 500)
		if err != nil {
			return err
		}
		for _, r := range page.Records {
			there[r.Index] = sum(r.Data)
			if v, err = follow(v, r, chains); err != nil {
				f.fault("%v", err)
			}
		}
		if uint64(v.Index()) >= page.Head {
			break
		}
	}
	l.compare(uint64(from), there, f)
	return nil
}

func snapshotOf(ctx context.Context, s *file.Store) (cluster.Value, error) {
	r, err := s.Snapshot(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return cluster.Value{}, nil
	}
	if err != nil {
		return cluster.Value{}, err
	}
	return cluster.DecodeSnapshot(r.Data)
}

// follow applies an entry and checks on what it says that it builds.
func follow(v cluster.Value, r store.Record, chains map[cluster.Index]cluster.Hash) (cluster.Value, error) {
	e, err := cluster.DecodeEntry(cluster.Index(r.Index), r.Data)
	if err != nil {
		return v.Skip(cluster.Index(r.Index), r.Data), fmt.Errorf("entry %d: %w", r.Index, err)
	}
	if want, ok := chains[e.BaseIndex]; ok && want != e.BaseChain {
		err = fmt.Errorf("entry %d builds on chain %s at %d, and there it is %s", r.Index, e.BaseChain, e.BaseIndex,
			want)
	}
	v, _ = v.Apply(e)
	chains[v.Index()] = v.Chain()
	return v, err
}

// compare finds acknowledged entries that are missing, and entries that nobody gave. What a snapshot covers is there.
func (l *ledger) compare(from uint64, there map[uint64]string, f *finding) {
	for index, want := range l.acked {
		switch got, ok := there[index]; {
		case index <= from || ok && got == want:
		default:
			f.lost++
			f.fault("entry %d was acknowledged, and is not there", index)
		}
	}
	for index, want := range l.late {
		f.late++
		if there[index] != want && index > from {
			f.gone++
		}
	}
	for index, got := range there {
		if !l.tried[got] {
			f.fault("entry %d is there, and nobody gave it", index)
		}
		if _, ok := l.acked[index]; !ok {
			f.unknown++
		}
		l.acked[index] = got
	}
}

func (l *ledger) verifyDocs(ctx context.Context, s *file.Store, f *finding) error {
	for key, d := range l.docs {
		got, err := s.Get(ctx, key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		is := ""
		if err == nil {
			is = sum(got.Value)
		}
		if is != d.acked && !d.tried[is] {
			f.lost++
			f.fault("document %s has %q, which is neither what was acknowledged last nor what was on its way", key,
				got.Value)
		}
		d.acked, d.tried = is, map[string]bool{}
	}
	return nil
}
