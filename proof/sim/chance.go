package sim

import (
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// chance is one stream of randomness. Streams are independent: what one member draws does not change what another one gets.
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
