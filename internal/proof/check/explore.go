package check

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	gohash "hash"
	"runtime"
	"sync"
)

// Model is a system of states and moves, small enough that all of it can be walked. Its methods are called from several
// goroutines at once.
type Model[S any] interface {
	// Start lists the states in which the system may begin.
	Start() []S
	// Next lists every move out of s, always in the same order. It must not change s.
	Next(s S) []Move[S]
	// Key names a state: equal keys mean states whose futures are alike.
	Key(s S) string
	// Broken names the promise that s breaks, "" when it breaks none.
	Broken(s S) string
	// Good says whether s is a good end. Every state must be able to reach one.
	Good(s S) bool
}

// Move is one step of a system: what happened, and the state after it.
type Move[S any] struct {
	Name string
	Said uint64 // a hash of what was said on the way, for the report's digest; 0 where nobody listens
	To   S
}

// Options bound a walk. Zero means no bound.
type Options struct {
	// States ends the walk when about so many states are known; the report is then not complete.
	States int
	// Violations ends the walk soon after so many were found.
	Violations int
	// Level, if set, is called before each level of the walk: its depth, how many states are known, and how many of
	// them it will walk.
	Level func(depth, states, waiting int)
}

// Violation is a promise that was broken, with a shortest way to it.
type Violation struct {
	Promise string   `json:"promise"`
	Trace   []string `json:"trace"`
}

// Report is what a walk found.
type Report struct {
	// States counts the states that were seen, Moves the moves between them, and Depth is the length of the longest of
	// the shortest ways to a state.
	States, Moves, Depth int
	// Complete says that every state was visited, and so that the absence of violations is a proof within the model's
	// bounds.
	Complete   bool
	Violations []Violation
	// Digest is a hash of every move in the order of the walk: its name, what was said, and which state is behind it.
	Digest uint64
}

// NoGoodEnd is the promise that is broken by a state from which no good end can be reached.
const NoGoodEnd = "every state can reach a good end"

// Explore walks every state of m, breadth first, so the trace of a violation is a shortest one. A state that breaks a
// promise is not walked further: what follows a broken promise teaches nothing. When the walk is complete it also looks
// for states that can't reach a good end. It keeps a hash, a parent and the moves of every state: about 100 bytes for
// each.
func Explore[S any](m Model[S], o Options) Report {
	w := &walk[S]{model: m, options: o, known: map[hash]int32{}, digest: sha256.New()}
	return w.run()
}

type hash [16]byte

// walk is one exploration. States are numbered in the order in which they were found.
type walk[S any] struct {
	model   Model[S]
	options Options
	known   map[hash]int32
	nodes   []node
	good    []bool
	into    []edge // every move, for the search backwards
	digest  gohash.Hash
	report  Report
}

// node is how a state was first reached.
type node struct {
	parent int32  // -1 for a start
	move   uint32 // the place of the move among the parent's moves, or of the start among the starts
	depth  uint32
	broken bool
}

type edge struct{ from, to int32 }

func (w *walk[S]) run() Report {
	frontier := w.starts()
	for depth := 0; len(frontier) > 0 && !w.stopped(); depth++ {
		if w.options.Level != nil {
			w.options.Level(depth, len(w.nodes), len(frontier))
		}
		frontier = w.level(frontier)
	}
	w.report.States = len(w.nodes)
	w.report.Moves = len(w.into)
	w.report.Digest = binary.BigEndian.Uint64(w.digest.Sum(nil))
	w.report.Complete = len(frontier) == 0
	if w.report.Complete {
		w.deadEnds()
	}
	return w.report
}

func (w *walk[S]) stopped() bool {
	return w.options.States > 0 && len(w.nodes) >= w.options.States ||
		w.options.Violations > 0 && len(w.report.Violations) >= w.options.Violations
}

// reached is a state whose moves have not been walked yet.
type reached[S any] struct {
	id    int32
	state S
}

func (w *walk[S]) starts() []reached[S] {
	var out []reached[S]
	for i, s := range w.model.Start() {
		if id, fresh := w.learn(w.judge(s), node{parent: -1, move: uint32(i)}); fresh && !w.nodes[id].broken {
			out = append(out, reached[S]{id, s})
		}
	}
	return out
}

// batch is how many states are walked between two looks at the bounds.
const batch = 4096

// level walks the moves of every state of one depth and returns the states of the next.
func (w *walk[S]) level(frontier []reached[S]) []reached[S] {
	var next []reached[S]
	for len(frontier) > 0 && !w.stopped() {
		n := min(batch, len(frontier))
		for i, found := range w.expand(frontier[:n]) {
			next = w.moves(frontier[i].id, found, next)
		}
		clear(frontier[:n]) // so that they can be freed
		frontier = frontier[n:]
	}
	return append(next, frontier...)
}

// found is a state behind a move, as far as it can be judged without the others.
type found[S any] struct {
	move    hash // its name, and what was said
	key     hash
	state   S // only of a state that was not known before
	fresh   bool
	promise string
	good    bool
}

// expand walks the moves of some states, on every core. Nothing is learnt meanwhile, so the order of the work does not
// matter.
func (w *walk[S]) expand(from []reached[S]) [][]found[S] {
	out := make([][]found[S], len(from))
	var g sync.WaitGroup
	cores := runtime.GOMAXPROCS(0)
	for c := range cores {
		g.Go(func() {
			for i := c; i < len(from); i += cores {
				for _, move := range w.model.Next(from[i].state) {
					f := w.judge(move.To)
					f.move = keyOf(fmt.Sprintf("%s\n%x", move.Name, move.Said))
					out[i] = append(out[i], f)
				}
			}
		})
	}
	g.Wait()
	return out
}

// judge looks at a state that may be new.
func (w *walk[S]) judge(s S) found[S] {
	f := found[S]{key: keyOf(w.model.Key(s))}
	if _, known := w.known[f.key]; !known {
		f.state, f.fresh, f.promise = s, true, w.model.Broken(s)
		f.good = f.promise == "" && w.model.Good(s)
	}
	return f
}

func (w *walk[S]) moves(from int32, to []found[S], next []reached[S]) []reached[S] {
	depth := w.nodes[from].depth + 1
	for i, f := range to {
		id, fresh := w.learn(f, node{parent: from, move: uint32(i), depth: depth})
		w.into = append(w.into, edge{from, id})
		w.digest.Write(binary.BigEndian.AppendUint32(f.move[:], uint32(id))) //nolint:gosec // see learn
		if fresh && !w.nodes[id].broken {
			next = append(next, reached[S]{id, f.state})
		}
	}
	return next
}

// learn numbers a state and says whether it is new.
func (w *walk[S]) learn(f found[S], n node) (int32, bool) {
	if id, ok := w.known[f.key]; ok {
		return id, false
	}
	id := int32(len(w.nodes)) //nolint:gosec // a walk of 2^31 states would need 200 GB
	w.known[f.key] = id
	n.broken = f.promise != ""
	w.nodes = append(w.nodes, n)
	w.good = append(w.good, f.good)
	w.report.Depth = max(w.report.Depth, int(n.depth))
	if n.broken {
		w.report.Violations = append(w.report.Violations, Violation{f.promise, w.trace(id)})
	}
	return id, true
}

func keyOf(key string) hash {
	sum := sha256.Sum256([]byte(key))
	return hash(sum[:16])
}

// trace names the moves from a start to a state, by walking them again: states aren't kept.
func (w *walk[S]) trace(id int32) []string {
	var path []node
	for at := id; at >= 0; at = w.nodes[at].parent {
		path = append(path, w.nodes[at])
	}
	last := len(path) - 1
	s := w.model.Start()[path[last].move]
	names := make([]string, 0, last)
	for i := last - 1; i >= 0; i-- {
		move := w.model.Next(s)[path[i].move]
		names, s = append(names, move.Name), move.To
	}
	return names
}

// deadEnds reports the shallowest state that can't reach a good end. A broken state isn't asked: it was reported for
// itself.
func (w *walk[S]) deadEnds() {
	reaches := w.backwards()
	for id, ok := range reaches {
		if !ok && !w.nodes[id].broken {
			w.report.Violations = append(w.report.Violations, Violation{NoGoodEnd, w.trace(int32(id))}) //nolint:gosec // see learn
			return
		}
	}
}

// backwards marks every state from which a good end, or a broken promise, can be reached.
func (w *walk[S]) backwards() []bool {
	first, ordered := w.byTarget()
	reaches := make([]bool, len(w.nodes))
	var queue []int32
	for id := range w.nodes {
		if w.good[id] || w.nodes[id].broken {
			reaches[id] = true
			queue = append(queue, int32(id)) //nolint:gosec // see learn
		}
	}
	for len(queue) > 0 {
		to := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, from := range ordered[first[to]:first[to+1]] {
			if !reaches[from] {
				reaches[from] = true
				queue = append(queue, from)
			}
		}
	}
	return reaches
}

// byTarget sorts the moves by the state that they lead to: those into state i begin at first[i].
func (w *walk[S]) byTarget() (first, from []int32) {
	first = make([]int32, len(w.nodes)+1)
	for _, e := range w.into {
		first[e.to+1]++
	}
	for i := range w.nodes {
		first[i+1] += first[i]
	}
	from = make([]int32, len(w.into))
	next := append([]int32(nil), first...)
	for _, e := range w.into {
		from[next[e.to]] = e.from
		next[e.to]++
	}
	return first, from
}
