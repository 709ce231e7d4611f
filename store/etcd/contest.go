package etcd

import "time"

// contest is for handles that append to one log: each transaction names the end of the log, and of those that name the same one wins. Losers that come back at
// once make the server refuse what they send, and keep it from those who would win: the work of n handles grows with the square of n. So the pause doubles with each loss
// in a row, from what a transaction takes by now, in which the server's queue shows.
type contest struct {
	lost int           // in a row
	took time.Duration // the last lost transaction
}

const (
	leastContest = time.Millisecond
	mostContest  = 2 * time.Second
)

// lose notes a loss.
func (c *contest) lose(took time.Duration) { c.lost, c.took = c.lost+1, took }

// win forgets the losses.
func (c *contest) win() { c.lost = 0 }

// pause is about how long to wait before the next try; 0 after a first loss, which may be chance.
func (c *contest) pause() time.Duration {
	if c.lost < 2 {
		return 0
	}
	return min(max(c.took, leastContest)<<min(c.lost-2, 10), mostContest)
}
