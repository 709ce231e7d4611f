package contract

import (
	"fmt"

	"github.com/rota-run/rota/cluster"
)

// epoch: it goes up, brings nobody back who has left, and leaves those whom it names as they were.
func (c *change) epoch(d cluster.Epoch) string {
	if was, _ := c.before.Epoch(); !was.Above(d.Start, d.Generation) {
		return "the epoch " + was.String() + " is not below it"
	}
	if !c.alone() {
		return ""
	}
	for _, n := range d.Members {
		was, there := c.before.Member(n.Join.Member)
		now, is := c.after.Member(n.Join.Member)
		same := there && was.Pulse == n.Join.Pulse && was.State == cluster.MemberJoined
		switch {
		case same && now.Incarnation != was.Incarnation:
			return fmt.Sprintf("%s was in the cluster, and is another incarnation", was.ID)
		case !same && n.Incarnation != 0 && is && now.Incarnation == c.entry.Index:
			return fmt.Sprintf("it brought %s back, which had left", now.ID)
		case n.Incarnation == 0 && (!is || now.Pulse != n.Join.Pulse):
			return fmt.Sprintf("%s is not in it", n.Join.Member)
		}
	}
	return c.sticky()
}

// sticky: what is granted to a member that stays, stays.
func (c *change) sticky() string {
	for p := range c.before.Partitions() {
		was, _ := c.before.Member(p.Owner)
		m, stays := c.after.Member(p.Owner)
		now, ok := c.after.Partition(p.ID)
		if p.State == cluster.PartitionGranted && stays && m.Incarnation == was.Incarnation && ok && (now.Owner != p.Owner || now.Token != p.Token) {
			return fmt.Sprintf("it took %s from %s, which is in it", p.ID, p.Owner)
		}
	}
	return ""
}

// share: its owner gives it to a member of the epoch.
func (c *change) share(d cluster.Share) string {
	p, _ := c.before.Partition(d.Partition)
	m, ok := c.before.Member(d.To)
	switch {
	case !c.alone():
	case p.Token != d.Token || p.Owner == "":
		return "its owner has another token"
	case d.To != "" && (!ok || m.State != cluster.MemberJoined):
		return "its target is not in the epoch"
	}
	return ""
}

// void: a share that is refused changes nothing.
func (c *change) void() string {
	if !c.alone() || c.done.Results[0].Accepted {
		return ""
	}
	s, ok := c.entry.Commands[0].(cluster.Share)
	if !ok {
		return ""
	}
	was, _ := c.before.Partition(s.Partition)
	if now, _ := c.after.Partition(s.Partition); now.Owner != was.Owner || now.Token != was.Token || now.State != was.State {
		return fmt.Sprintf("%v was refused, and %s is another", s, s.Partition)
	}
	return ""
}
