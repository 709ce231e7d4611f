package etcd

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// rival is a handle that has one record to append.
type rival struct {
	contest
	at    time.Duration // when its next request reaches the server
	reads bool          // that request is a read
	known int
}

// compete lets n handles append to a server that answers one request after the other, and returns how many transactions that took, and how long.
func compete(n int, pause func(*contest) time.Duration, read bool) (transactions int, took time.Duration) {
	const reading, writing = time.Millisecond, 5 * time.Millisecond
	chance := rand.New(rand.NewPCG(1, 2))
	waiting := make([]*rival, n)
	for i := range waiting {
		waiting[i] = &rival{}
	}
	head, free := 0, time.Duration(0)
	for len(waiting) > 0 && transactions < 100_000 {
		first := slices.Index(waiting, slices.MinFunc(waiting, func(a, b *rival) int { return cmp.Compare(a.at, b.at) }))
		r := waiting[first]
		if r.reads {
			free = max(free, r.at) + reading
			r.reads, r.known, r.at = false, head, free
			continue
		}
		free = max(free, r.at) + writing
		transactions++
		if r.known == head {
			head++
			waiting = slices.Delete(waiting, first, first+1)
			continue
		}
		r.known = head
		r.lose(free - r.at)
		r.at = free
		if about := pause(&r.contest); about > 0 {
			r.at += about/2 + time.Duration(chance.Int64N(int64(about)))
			r.reads = read
		}
	}
	return transactions, free
}

// TestManyHandlesDoNotKeepEachOther: the work of handles that compete grows with their number, not with its square.
func TestManyHandlesDoNotKeepEachOther(t *testing.T) {
	t.Parallel()
	at := func(c *contest) time.Duration { return c.pause() }
	for n, most := range map[int]int{1: 1, 2: 3, 3: 6, 64: 64 * 8, 200: 200 * 8} {
		got, took := compete(n, at, true)
		t.Logf("%d handles: %d transactions in %v", n, got, took)
		if got > most {
			t.Errorf("%d handles: %d transactions, want at most %d", n, got, most)
		}
	}
	// The measure can fail: with pauses of 10 ms at most, as there were, each record cost a transaction of everybody else.
	former := func(c *contest) time.Duration { return time.Duration(min(c.lost, 10)) * time.Millisecond }
	if got, took := compete(200, former, false); got < 15_000 {
		t.Errorf("without longer pauses 200 handles made %d transactions in %v", got, took)
	}
}

func TestContest(t *testing.T) {
	t.Parallel()
	var c contest
	for i, want := range []int{0, 4, 8, 16, 32} {
		c.lose(4 * time.Millisecond)
		if got := c.pause().Milliseconds(); got != int64(want) {
			t.Errorf("after %d losses the pause is %d ms, want %d", i+1, got, want)
		}
	}
	for range 100 {
		c.lose(time.Second)
	}
	if got := c.pause(); got != mostContest {
		t.Errorf("the longest pause is %v", got)
	}
	c.win()
	c.lose(0)
	c.lose(0)
	if got := c.pause(); got != leastContest {
		t.Errorf("after a win and two quick losses the pause is %v", got)
	}
}
