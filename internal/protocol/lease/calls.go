package lease

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/store"
)

// Caller makes the store calls of one member and turns their answers into events. It decides nothing. The shell has
// one, and so has a simulated member, with a simulated store and clock. Call may be called from any goroutine.
type Caller struct {
	shell.BeatCaller
	Level    int       // of flate, at which views are packed; 0: not at all
	packer   sync.Pool // of *flate.Writer: one is far larger than most views
	unpacker sync.Pool // of flate's readers
}

// Call makes one store call and returns the event that answers it; nil for effects that are no calls.
func (c *Caller) Call(ctx context.Context, e member.Effect) member.Event {
	switch e := e.(type) {
	case Fetch:
		sent := c.Now()
		docs, err := store.GetAll(ctx, c.Store, e.Keys)
		return c.OrClosed(err, Fetched{Now: c.Now(), Sent: sent, WallMS: c.Wall().UnixMilli(), ID: e.ID, Docs: docs,
			Err: shell.Text(err)})
	case Survey:
		sent := c.Now()
		docs, old, err := surveyAll(ctx, c.Store, e.Keys, e.usable)
		return c.OrClosed(err, Surveyed{Now: c.Now(), Sent: sent, WallMS: c.Wall().UnixMilli(), Docs: docs, Old: old,
			Err: shell.Text(err)})
	case Write:
		return c.write(ctx, e)
	case ReadView:
		return c.readView(ctx, e)
	case Show:
		newest, err := c.show(ctx, e)
		return c.OrClosed(err, Shown{Now: c.Now(), View: e.View, Outcome: outcome(err), Newest: newest,
			Err: problem(err)})
	}
	return c.BeatCaller.Call(ctx, e)
}

// outcome is that of a conditional write: it is refused where the version is not current.
func outcome(err error) outbox.Outcome {
	switch {
	case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound):
		return outbox.Refused
	case errors.Is(err, store.ErrTooLarge):
		return outbox.NotDone
	}
	return outbox.OutcomeOf(err)
}

// problem is the error of a call that got no answer: that somebody else was quicker is one.
func problem(err error) string {
	if outcome(err) == outbox.Refused {
		return ""
	}
	return shell.Text(err)
}

func (c *Caller) write(ctx context.Context, e Write) member.Event {
	var v store.Version
	var err error
	if e.Delete {
		err = c.Store.Delete(ctx, e.Doc.Key, e.Doc.Version)
	} else {
		v, err = c.Store.Put(ctx, e.Doc)
	}
	return c.OrClosed(err, Written{Now: c.Now(), ID: e.ID, Outcome: outcome(err), Version: v, Err: problem(err)})
}

// usable reports whether a listed document may be used as it is: no other document follows from it; or it is a share,
// or was one perhaps, that was read by its key, and neither has the list shown another since nor did we write one. One
// that moves is read by its key, and so is each share of a task that the pass before has laid out.
func (e Survey) usable(d store.Doc) bool {
	if _, moves := slices.BinarySearch(e.moves, d.Key); moves {
		return false
	}
	known := cmp.Or(e.known, &facts{})
	p, ok := known.partition(d)
	if ok {
		job, task, _ := p.partition.ID.Split()
		if len(p.said) > 0 || slices.Contains(e.shares[job], task) {
			return false
		}
	}
	if _, wrote := slices.BinarySearch(e.wrote, d.Key); !wrote {
		if x, ok := known.doc(d.Key); ok && x.Version == d.Version {
			return true
		}
	}
	return !ok || p.partition.Slot == 0 && p.doc.State != gone
}

// surveyAll reads what was asked for, and what a list shows of jobs and partitions. A list may lag, which delays and
// decides nothing: what it leaves out is read by its key, as are jobs, and so is a partition that binds others if it is
// shown otherwise than it was read before. A write is conditional on its own document alone: by what an old list shows
// of one partition, another one would be made.
//
// It also returns the jobs of which the list shows what was: it may leave out what came after it. What a
// document refers to is read after it: by a Node List from before a session joined, what that session has claimed since
// would be free; by a job from before it was submitted again, its partitions would be those of a former submission.
func surveyAll(ctx context.Context, docs store.Docs, keys []string,
	usable func(store.Doc) bool) (out []store.Doc, old []cluster.JobID, err error) {
	partitions, err := docs.List(ctx, partitionPrefix)
	if err != nil {
		return nil, nil, err
	}
	jobs, err := docs.List(ctx, jobPrefix)
	if err != nil {
		return nil, nil, err
	}
	ask := append(slices.Clip(keys), jobsOf(partitions)...)
	for _, d := range jobs { // what is removed because of its job is not removed because of an old list
		ask = append(ask, d.Key)
	}
	used := make(map[string]bool, len(partitions)+len(ask))
	listed := make([]store.Doc, 0, len(partitions))
	for _, d := range partitions {
		if used[d.Key] = usable(d); used[d.Key] {
			listed = append(listed, d)
		} else {
			ask = append(ask, d.Key)
		}
	}
	ask = slices.DeleteFunc(ask, func(key string) bool {
		again := used[key]
		used[key] = true
		return again
	})
	slices.SortStableFunc(ask, func(a, b string) int { return cmp.Compare(turn(a), turn(b)) })
	more, err := store.GetAll(ctx, docs, ask)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range more {
		if !strings.HasPrefix(d.Key, partitionPrefix) {
			continue
		}
		var was store.Doc // as the list has shown it, if it has
		if i, ok := slices.BinarySearchFunc(partitions, d.Key, byKey); ok {
			was = partitions[i]
		}
		if was.Version == d.Version {
			continue
		}
		if d.Version == "" {
			d = was
		}
		if job, ok := jobOf(d); ok && !slices.Contains(old, job) {
			old = append(old, job)
		}
	}
	slices.SortFunc(more, func(a, b store.Doc) int { return strings.Compare(a.Key, b.Key) })
	out = make([]store.Doc, 0, len(listed)+len(more))
	for _, d := range more { // what was listed is in order
		n, _ := slices.BinarySearchFunc(listed, d.Key, byKey)
		out, listed = append(append(out, listed[:n]...), d), listed[n:]
	}
	return append(out, listed...), old, nil
}

func byKey(d store.Doc, key string) int { return strings.Compare(d.Key, key) }

// turn is when a survey reads a document.
func turn(key string) int {
	switch {
	case key == keyNodes:
		return 3
	case key == keyConfig:
		return 2
	case strings.HasPrefix(key, partitionPrefix):
		return 0
	}
	return 1
}

// jobsOf are the documents of the jobs of partitions: without its job nothing is known of a partition.
func jobsOf(docs []store.Doc) (keys []string) {
	for _, d := range docs {
		if job, ok := jobOf(d); ok {
			keys = append(keys, jobKey(job))
		}
	}
	return slices.Compact(keys) // those of a job are beside each other
}

func viewKey(view uint64) string { return viewPrefix + strconv.FormatUint(view, 10) }

// maxView bounds a view, unpacked.
const maxView = 1 << 30

func (c *Caller) readView(ctx context.Context, e ReadView) member.Event {
	d, err := c.Store.Get(ctx, viewKey(e.View))
	switch {
	case errors.Is(err, store.ErrNotFound): // a newer one is there
		return ViewRead{Now: c.Now()}
	case err != nil:
		return c.OrClosed(err, ViewRead{Now: c.Now(), Err: shell.Text(err)})
	}
	var v cluster.Value
	data, err := c.unpack(d.Value)
	if err == nil {
		v, err = cluster.DecodeSnapshot(data)
	}
	if _, newer := errors.AsType[*cluster.FormatError](err); newer {
		return ViewRead{Now: c.Now(), Halt: err}
	}
	if err != nil {
		return ViewRead{Now: c.Now(), Err: fmt.Sprintf("read document %q: %v", d.Key, err)}
	}
	return ViewRead{Now: c.Now(), View: e.View, Value: v}
}

// show writes a view, and removes those before the last: a member may be reading the last. Where another leader has
// written one of this number, it returns the newest.
func (c *Caller) show(ctx context.Context, e Show) (newest uint64, err error) {
	data, err := c.pack(e.Value.Snapshot())
	if err != nil {
		return 0, err
	}
	if _, err := c.Store.Put(ctx, store.Doc{Key: viewKey(e.View), Value: data}); err != nil {
		if errors.Is(err, store.ErrConflict) {
			c.eachView(ctx, func(_ store.Doc, n uint64) { newest = max(newest, n) })
		}
		return newest, fmt.Errorf("write view %d: %w", e.View, err)
	}
	c.eachView(ctx, func(d store.Doc, n uint64) {
		if n+1 >= e.View {
			return
		}
		if err := c.Store.Delete(ctx, d.Key, d.Version); err != nil {
			c.Logger.Debug("remove an old view", "key", d.Key, "err", err)
		}
	})
	return 0, nil
}

func (c *Caller) pack(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, ok := c.packer.Get().(*flate.Writer)
	if !ok {
		w, _ = flate.NewWriter(nil, c.Level) // which is a level that it has
	}
	defer c.packer.Put(w)
	w.Reset(&b)
	_, err := w.Write(data)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

func (c *Caller) unpack(packed []byte) ([]byte, error) {
	r, ok := c.unpacker.Get().(io.Reader)
	if !ok {
		r = flate.NewReader(nil)
	}
	defer c.unpacker.Put(r)
	if err := r.(flate.Resetter).Reset(bytes.NewReader(packed), nil); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, maxView))
}

// eachView calls do with the views that a list shows, and their numbers.
func (c *Caller) eachView(ctx context.Context, do func(store.Doc, uint64)) {
	docs, _ := c.Store.List(ctx, viewPrefix) // what it does not list now goes with a later view
	for _, d := range docs {
		if n, err := strconv.ParseUint(strings.TrimPrefix(d.Key, viewPrefix), 10, 64); err == nil {
			do(d, n)
		}
	}
}
