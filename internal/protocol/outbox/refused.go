package outbox

import (
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// Who writes at the same time as others is refused now and then, and wants something else when it has read why. So the
// first tries do not wait. What is wanted still after that, readers do not take: it is tried ever more seldom, alone,
// and holds up nothing else.
const (
	freeTries = 3
	firstWait = time.Second
	lastWait  = time.Minute
)

// Unread is the answer to a request whose entry readers pass over.
const Unread = "it was written, and those who read it pass over it; try: one version of Rota on all members"

// refusal is something that the state asks for, and that was refused.
type refusal struct {
	key   string
	tries int
	until protocol.Instant
}

// itemSize is how many of the commands belong together: a request that was taken, with its commands.
func itemSize(own []cluster.Command) int {
	if t, ok := own[0].(cluster.TakeRequest); ok {
		return min(1+int(t.Count), len(own))
	}
	return 1
}

// keyOf names an item, whatever it says to people.
func keyOf(item []cluster.Command) string {
	var b []byte
	for _, c := range item {
		if l, ok := c.(cluster.LeaveCluster); ok {
			l.Reason = ""
			c = l
		}
		b = append(b, cluster.EncodeCommand(c)...)
	}
	return string(b)
}

func (b Box) refusalOf(key string) int {
	return slices.IndexFunc(b.refusals, func(r refusal) bool { return r.key == key })
}

// admit leaves out what is not to be tried now. What was refused before is tried alone. A refusal of what is not wanted
// any more is forgotten.
func (b Box) admit(own []cluster.Command, now protocol.Instant) (Box, []cluster.Command, bool) {
	if len(b.refusals) == 0 {
		return b, own, false
	}
	var kept []refusal
	var clean, again []cluster.Command
	for len(own) > 0 {
		n := itemSize(own)
		item := own[:n]
		own = own[n:]
		i := b.refusalOf(keyOf(item))
		switch {
		case i < 0:
			clean = append(clean, item...)
			continue
		case now >= b.refusals[i].until && again == nil:
			again = item
		}
		kept = append(kept, b.refusals[i])
	}
	if b.refusals = kept; again != nil {
		return b, again, true
	}
	return b, clean, false
}

// judged notes whether something that the state asked for was refused.
func (b Box) judged(item []cluster.Command, refused bool, now protocol.Instant) Box {
	if !refused && len(b.refusals) == 0 {
		return b
	}
	r := refusal{key: keyOf(item)}
	if i := b.refusalOf(r.key); i >= 0 {
		r = b.refusals[i]
		b.refusals = slices.Delete(slices.Clone(b.refusals), i, i+1)
	}
	if refused {
		if r.tries++; r.tries > freeTries {
			r.until = now.Add(min(firstWait<<min(r.tries-freeTries-1, 10), lastWait))
		}
		b.Refused++
		b.refusals = append(slices.Clip(b.refusals), r)
	}
	return b
}

// Passed gives up an entry that was acknowledged twice, while its writer, which has applied everything up to an index,
// has never met it: readers pass over it. One that has several things in it is taken apart.
func (b Box) Passed(applied cluster.Index, now protocol.Instant) (Box, []Answer) {
	p := b.Pending
	if b.Busy || p == nil || p.Acks < 2 || applied < p.Known {
		return b, nil
	}
	b.Pending = nil
	own := p.Entry.Commands[:p.Own]
	items := len(p.Requests)
	for rest := own; len(rest) > 0; rest = rest[itemSize(rest):] {
		items++
	}
	switch {
	case items > 1:
		b.alone, b.Queue = items, append(slices.Clone(p.Requests), b.Queue...)
		return b, nil
	case len(own) > 0:
		return b.judged(own, true, now), nil
	}
	b.Refused++
	return b, []Answer{{ID: p.Requests[0].ID, Err: Unread}}
}
