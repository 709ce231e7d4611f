package contract

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rota-run/rota/cluster"
)

// epoch: it goes up, brings nobody back who has left, and leaves those whom it names as they were.
func (c *change) epoch(d cluster.Epoch) string {
	if was, _ := c.before.Epoch(); cmp.Or(cmp.Compare(d.Start, was.Start),
		cmp.Compare(d.Generation, was.Generation)) <= 0 {
		return "the epoch " + was.String() + " is not below it"
	}
	if !c.alone() {
		return ""
	}
	for _, n := range d.Members {
		was, there := c.before.Member(n.Join.Member)
		now, is := c.after.Member(n.Join.Member)
		same := there && was.Heartbeat == n.Join.Heartbeat && was.State == cluster.MemberJoined
		switch {
		case same && now.Incarnation != was.Incarnation:
			return fmt.Sprintf("%s was in the cluster, and is another incarnation", was.ID)
		case !same && n.Incarnation != 0 && is && now.Incarnation == c.entry.Index:
			return fmt.Sprintf("it brought %s back, which had left", now.ID)
		case n.Incarnation == 0 && (!is || now.Heartbeat != n.Join.Heartbeat):
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
		if p.State == cluster.PartitionGranted && stays && m.Incarnation == was.Incarnation && ok &&
			(now.Owner != p.Owner || now.Token != p.Token) {
			return fmt.Sprintf("it took %s from %s, which is in it", p.ID, p.Owner)
		}
	}
	return ""
}

// share: its owner gives it to a member of the epoch.
func (c *change) share(d cluster.Share) string {
	if !c.sharing() {
		return ""
	}
	if m, ok := c.before.Member(d.To); d.To != "" && (!ok || m.State != cluster.MemberJoined) {
		return "its target is not in the epoch"
	}
	return c.owned(d.Partition, d.Token)
}

// void: a share that is refused changes nothing.
func (c *change) void() string {
	if !c.sharing() {
		return ""
	}
	given := make(map[cluster.PartitionID]bool)
	for i, command := range c.entry.Commands {
		if s, ok := command.(cluster.Share); ok && c.done.Results[i].Accepted {
			given[s.Partition] = true
		}
	}
	for i, command := range c.entry.Commands {
		s, ok := command.(cluster.Share)
		if !ok || c.done.Results[i].Accepted || given[s.Partition] {
			continue
		}
		was, _ := c.before.Partition(s.Partition)
		if now, _ := c.after.Partition(s.Partition); now.Owner != was.Owner || now.Token != was.Token ||
			now.State != was.State {
			return fmt.Sprintf("%v was refused, and %s is another", s, s.Partition)
		}
	}
	return ""
}

// sharing: the entry shares, or says what its writer owns, and does nothing else.
func (c *change) sharing() bool {
	return !slices.ContainsFunc(c.entry.Commands, func(command cluster.Command) bool {
		switch command.(type) {
		case cluster.Share, cluster.Own:
			return false
		}
		return true
	})
}
