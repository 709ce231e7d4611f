package log

import "time"

// contest is an append that competes with those of other handles. Each swap sends the whole head, and of those that
// name one version one wins. A loser that comes back at once sends all of it for another one to win, and the bytes of n
// handles grow with the square of n. So a loser waits, longer with each loss, and then reads what stands there.
type contest struct{ lost int }

const (
	leastPause = time.Millisecond
	mostPause  = time.Second
	doublings  = 4 // more would not save much, and a loser that waits for long after the others are done
)

// lose notes a loss, and says how long to wait before the next try. The last request took so long: the server's queue
// shows in it. Losers give seeds of their own, so that they do not come back at once.
func (c *contest) lose(took time.Duration, seed uint32) time.Duration {
	c.lost++
	about := min(max(took, leastPause)<<min(c.lost, doublings), mostPause)
	return about/2 + about>>16*time.Duration(seed>>16) // half of it to one and a half
}
