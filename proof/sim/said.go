package sim

import (
	"fmt"

	"github.com/rota-run/rota/cluster"
)

// said holds what members say against what is so: what has stopped under a token does not run under it, and no more starts of the group are counted than
// there were.
func (o *oracle) said(e cluster.Entry, done cluster.Applied) {
	for i, c := range e.Commands {
		if done.Duplicate || !done.Results[i].Accepted {
			continue
		}
		switch c := c.(type) {
		case cluster.Stopped:
			for _, r := range o.running[c.Partition] {
				if r.token == c.Token {
					o.violate("G2", fmt.Sprintf("entry %d: %s has stopped under token %d, and it runs on %s", e.Index, c.Partition, c.Token, r.p.name))
				}
			}
		case cluster.Epoch:
			if n := o.w.disk.room.forgotten; c.Start > 1+n {
				o.violate("G1", fmt.Sprintf("entry %d: %v counts start %d of the group, which was forgotten %d times", e.Index, c, c.Start, n))
			}
		}
	}
}
