package chaos

import (
	"os"
	"regexp"
	"time"

	"github.com/rota-run/rota/protocol/shell"
)

// bound is Options.bound with the longest TTL that a member has had by now: one whose renewals were slow, because the machine or the store had too much to do,
// states a longer one, and the others wait for that.
func (c *Cluster) bound() time.Duration {
	o := c.options
	for _, p := range c.processes {
		o.TTL = max(o.TTL, p.longestTTL())
	}
	return o.bound()
}

// longestTTL is the longest TTL of which the process has logged that it is longer than usual; 0 if there was none.
func (p *started) longestTTL() (ttl time.Duration) {
	log, _ := os.ReadFile(p.log) // a process that has not written yet has said nothing
	for _, m := range regexp.MustCompile(regexp.QuoteMeta(shell.LongerTTL)+`" ttl=(\S+)`).FindAllSubmatch(log, -1) {
		if d, err := time.ParseDuration(string(m[1])); err == nil {
			ttl = max(ttl, d)
		}
	}
	return ttl
}
