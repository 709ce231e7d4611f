package sim

import (
	"fmt"

	"github.com/rota-run/rota/cluster"
)

// said holds what members say against what is so: what has stopped under a token does not run under it, and a start of the group is counted once it was
// forgotten.
func (o *oracle) said(before *cluster.Value, e cluster.Entry, done cluster.Applied) {
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
			starts := o.w.disk.room.starts
			if was, ok := before.Epoch(); ok && c.Start > was.Start && starts == o.starts {
				o.violate("G1", fmt.Sprintf("entry %d: %v counts another start of the group, which nobody has forgotten since epoch %s", e.Index, c, was))
			}
			o.starts = starts
		}
	}
}
