package sim

import (
	"time"

	"github.com/rota-run/rota/protocol"
)

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

// wall is the clock for people; it may jump, and nothing may depend on it.
type wall struct{ shift time.Duration }

func (w *wall) at(trueTime int64) time.Time {
	return time.Unix(1_700_000_000, trueTime).Add(w.shift).UTC()
}
