package chaos

import (
	"cmp"
	"io"
	"os"
	"regexp"
	"time"

	"github.com/rota-run/rota/internal/protocol/shell"
)

// Options say how it is played. Binary is required.
type Options struct {
	Events     int           // how many faults and changes; default 200
	Seed       uint64        // of the deck; default 1
	Members    int           // most members at once, 3 to 9; default 5
	TTL        time.Duration // of the members; default 1.5 s, on servers 2 s
	NoSessions bool          // heartbeats alone
	Unguarded  bool          // members without guardians
	Protocol   string        // how the members agree; default that of rota
	Server     *Server       // where the members meet; default a directory
	Nodes      int           // of the server that is started; default 1
	Binary     string        // path of rota
	Dir        string        // where everything goes; default a temporary directory. It is kept when something is wrong
	Keep       bool          // it is kept in any case
	Only       []string      // kinds of events; default all
	Out        io.Writer     // for people; default nobody
}

func (o Options) withDefaults() Options {
	o.Events = cmp.Or(o.Events, 200)
	o.Seed = cmp.Or(o.Seed, 1)
	o.Members = min(max(cmp.Or(o.Members, 5), 3), 9)
	if o.Server != nil {
		o.TTL = cmp.Or(o.TTL, 2*time.Second)
	}
	o.TTL = cmp.Or(o.TTL, 1500*time.Millisecond)
	if o.Out == nil {
		o.Out = io.Discard
	}
	return o
}

// bound is how long a partition may be without a run after its owner failed, where others may be failing at the same
// time: a silent member that was to watch another one costs its own silence too, a sweep finds what is left, and a busy
// machine needs a second to start a process.
func (o Options) bound() time.Duration {
	b := 2*o.TTL*105/100 + o.TTL/2 + time.Second
	if o.Server != nil {
		b += 2 * expiry
	}
	return b
}

// expiry is how much longer than the TTL a server may keep the documents of a session: it rounds up, and looks from
// time to time.
const expiry = 2 * time.Second

// wake is how long a process that was suspended may take to see that it is no owner any more.
const wake = 250 * time.Millisecond

// patience bounds every wait.
const patience = 60 * time.Second

// glance is the time between two looks at a condition.
const glance = 10 * time.Millisecond

// bound is Options.bound with the longest TTL that a member has had by now: one whose renewals were slow, because the
// machine or the store had too much to do, states a longer one, and the others wait for that.
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
