package sim

import (
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"github.com/rota-run/rota/protocol"
)

// happening is something that is due at an instant of true time.
type happening struct {
	at  int64
	tie uint64 // drawn by the world: the order of what is due at the same instant is explored, not fixed
	seq uint64
	do  func()
}

// before orders by instant, then by chance. No two are equal: any heap yields them in the same order.
func (h *happening) before(o *happening) bool {
	switch {
	case h.at != o.at:
		return h.at < o.at
	case h.tie != o.tie:
		return h.tie < o.tie
	}
	return h.seq < o.seq
}

// queue holds what is due, as a heap: the first on top. It is not container/heap's, which allocates for each of them.
type queue []happening

func (q *queue) add(h happening) {
	all := append(*q, h)
	i := len(all) - 1
	for up := (i - 1) / 2; i > 0 && h.before(&all[up]); up = (i - 1) / 2 {
		all[i], i = all[up], up
	}
	all[i] = h
	*q = all
}

func (q *queue) next() happening {
	all, i := *q, 0
	top, end := all[0], len(all)-1
	h := all[end]
	all[end] = happening{}
	all = all[:end]
	for down := 1; down < end; down = 2*i + 1 {
		if right := down + 1; right < end && all[right].before(&all[down]) {
			down = right
		}
		if h.before(&all[down]) {
			break
		}
		all[i], i = all[down], down
	}
	if end > 0 {
		all[i] = h
	}
	*q = all
	return top
}

// clock is the suspend-aware clock of one machine: it starts anywhere and its rate is wrong by some thousandths.
type clock struct {
	base  int64 // true time of the last change of rate
	local int64 // what it showed then
	rate  int64 // thousandths that it is too fast
}

func (c *clock) at(trueTime int64) protocol.Instant {
	return protocol.Instant(c.local + (trueTime-c.base)*(1000+c.rate)/1000)
}

// when is the first true time at which the clock shows at least t.
func (c *clock) when(t protocol.Instant) int64 {
	return c.base + ((int64(t)-c.local)*1000+999+c.rate)/(1000+c.rate)
}

func (c *clock) setRate(trueTime, rate int64) {
	c.local, c.base, c.rate = int64(c.at(trueTime)), trueTime, rate
}

// chance is one stream of randomness. Streams are independent: what one member draws does not change what another one
// gets.
type chance struct{ *rand.Rand }

// stream is the stream of a seed for one purpose.
func stream(seed uint64, purpose ...string) chance {
	h := fnv.New64a()
	h.Write([]byte(strings.Join(purpose, "\x00")))
	return chance{rand.New(rand.NewPCG(seed, h.Sum64()))}
}

// between draws from lo to hi, both included.
func (c chance) between(lo, hi int64) int64 {
	if hi <= lo {
		return lo
	}
	return lo + c.Int64N(hi-lo+1)
}

// oneIn is true once in n times.
func (c chance) oneIn(n int64) bool { return c.Int64N(n) == 0 }

func pick[T any](c chance, of []T) T { return of[c.IntN(len(of))] }
