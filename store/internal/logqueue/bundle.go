package logqueue

import (
	"context"
	"strconv"
)

const (
	// bundleBytes is with how many bytes a bundle takes no further data. A store takes a few large values sooner than
	// many small ones.
	bundleBytes = 256 << 10
	// spentMost is how many bundles may wait to be freed together.
	spentMost = 16
	// shelfBytes is how many bytes of bundles a handle keeps: who reads a bundle in parts, or has written it himself,
	// need not ask for it again.
	shelfBytes = 8 << 20
)

// bundler puts data of a commit together, those of one shard: they are mostly received together, too.
type bundler struct {
	most int // bytes of one
	left int // bytes that are still to come
	all  [][]byte
	last map[int]int // of each shard, in all
}

// add notes in an output where its data are going to be: At is a number until the bundle is stored.
func (b *bundler) add(o *output, data []byte) {
	if b.last == nil {
		b.last = make(map[int]int)
	}
	i, ok := b.last[o.Shard]
	if !ok || len(b.all[i])+len(data) > b.most {
		i = len(b.all)
		b.all = append(b.all, make([]byte, 0, max(len(data), min(b.left, b.most))))
		b.last[o.Shard] = i
	}
	o.At, o.From, o.Size = strconv.Itoa(i), len(b.all[i]), len(data)
	b.all[i] = append(b.all[i], data...)
	b.left -= len(data)
}

// bundled notes in the outputs of units where their bundles are.
func (f *flow) bundled(units []unit, bundles [][]byte, at []string) {
	for i, b := range bundles {
		f.shelf.keep(at[i], b)
	}
	for i := range units {
		for k := range units[i].Outputs {
			if o := &units[i].Outputs[k]; o.At != "" {
				n, _ := strconv.Atoi(o.At) // as it was noted
				o.At = at[n]
			}
		}
	}
}

// get reads the bundles of outputs; nil for those that are gone.
func (f *flow) get(ctx context.Context, outputs []output) (map[string][]byte, error) {
	all := make(map[string][]byte)
	var missing []string
	for _, o := range outputs {
		if _, asked := all[o.At]; o.At == "" || asked {
			continue
		}
		if all[o.At] = f.shelf.get(o.At); all[o.At] == nil {
			missing = append(missing, o.At)
		}
	}
	if len(missing) == 0 {
		return all, nil
	}
	got, err := f.journal.Get(ctx, missing...)
	if err != nil {
		return nil, err
	}
	for i, at := range missing {
		all[at] = got[i]
		f.shelf.keep(at, got[i])
	}
	return all, nil
}

// free removes bundles that nobody needs any more, some together. What a crash leaves goes with the flow.
func (f *flow) free(ctx context.Context, at []string) {
	k, ok := f.journal.(Keeper)
	f.mu.Lock()
	for _, place := range at {
		f.shelf.forget(place)
	}
	f.spent = append(f.spent, at...)
	var spent []string
	if !ok || len(f.spent) >= spentMost {
		spent, f.spent = f.spent, nil
	}
	f.mu.Unlock()
	if ok && len(spent) > 0 {
		_ = k.Free(ctx, spent...)
	}
}
