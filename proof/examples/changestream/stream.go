package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// config says which stream it is. All processes are told through the job.
type config struct {
	Partitions int // at the beginning; they share the keys evenly
	Times      int // how often partitions split or merge, in turn
	Each       int // changes from one time to the next
}

// keys is how many keys have changes.
const keys = 1 << 16

// change is one change of a key. Positions are those of the whole stream, and each is that of one change.
type change struct{ at, key int }

// partition is a range of keys from its beginning to its end.
type partition struct {
	name      string
	low, high int // keys from low to below high
	parents   []string
	children  []*partition // that go on behind its end; two after a split, one after a merge, none at the end of the stream
	changes   []change
}

// stream is all that ever happens. It follows from its config.
type stream struct {
	all   []*partition
	named map[string]*partition
}

// newStream makes the stream of a config.
func newStream(c config) *stream {
	s := &stream{named: make(map[string]*partition)}
	chance := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // always the same stream
	var live []*partition                 // sorted by their keys
	for i := range c.Partitions {
		live = append(live, s.begin(i*keys/c.Partitions, (i+1)*keys/c.Partitions))
	}
	for i := range c.Times * c.Each {
		if time := i / c.Each; i%c.Each == 0 && i > 0 {
			live = s.turn(live, time%2 == 1, chance)
		}
		at := change{at: i + 1, key: chance.IntN(keys)}
		p := live[slices.IndexFunc(live, func(p *partition) bool { return at.key < p.high })]
		p.changes = append(p.changes, at)
	}
	s.turn(live, c.Times%2 == 1, chance)
	return s
}

func (s *stream) begin(low, high int, parents ...*partition) *partition {
	p := &partition{name: fmt.Sprintf("p%05d", len(s.all)), low: low, high: high}
	for _, q := range parents {
		p.parents = append(p.parents, q.name)
		q.children = append(q.children, p)
	}
	slices.Sort(p.parents) // all parents report the same
	s.all, s.named[p.name] = append(s.all, p), p
	return p
}

// turn splits one of the live partitions, or merges two neighbours, and returns those that are live then.
func (s *stream) turn(live []*partition, split bool, chance *rand.Rand) []*partition {
	if i := chance.IntN(len(live)); split {
		if p := live[i]; p.high-p.low > 1 {
			middle := p.low + 1 + chance.IntN(p.high-p.low-1)
			return slices.Replace(live, i, i+1, s.begin(p.low, middle, p), s.begin(middle, p.high, p))
		}
	} else if i+1 < len(live) {
		p, q := live[i], live[i+1]
		return slices.Replace(live, i, i+2, s.begin(p.low, q.high, p, q))
	}
	return s.turn(live, split, chance)
}

// read returns at most limit changes behind a position, and whether there are more behind them.
func (p *partition) read(after, limit int) (some []change, more bool) {
	i, _ := slices.BinarySearchFunc(p.changes, after+1, func(c change, at int) int { return c.at - at })
	some = p.changes[i:]
	return some[:min(limit, len(some))], len(some) > limit
}

// index is the place of a change in the partition, below 0 if it has no such change.
func (p *partition) index(c change) int {
	i, ok := slices.BinarySearchFunc(p.changes, c.at, func(c change, at int) int { return c.at - at })
	if !ok || p.changes[i] != c {
		return -1
	}
	return i
}
