package chaos

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
)

// kind is a kind of event.
type kind struct {
	name   string
	weight int
	needs  string // what there must be; "" for nothing
	do     func(*Cluster, context.Context) (string, error)
}

// What some kinds need of the machine.
const (
	smallDisk = "a small tmpfs (root and mount)"
	injection = "strace that may attach (root)"
	directory = "a store in a directory"
	server    = "a store on a server"
)

// kinds are all kinds of events. The weights are shares of the deck.
func kinds() []kind {
	return []kind{
		{"kill", 24, "", (*Cluster).kill},
		{"kill-two", 5, "", (*Cluster).killTwo},
		{"kill-all", 4, "", (*Cluster).killAll},
		{"start-same-name", 16, "", (*Cluster).startSame},
		{"start-new-name", 8, "", (*Cluster).startNew},
		{"suspend-short", 10, "", (*Cluster).suspendShort},
		{"suspend-about-ttl", 8, "", (*Cluster).suspendEdge},
		{"suspend-long", 9, "", (*Cluster).suspendLong},
		{"leave", 9, "", (*Cluster).leave},
		{"task-add", 8, "", (*Cluster).addTask},
		{"task-edit", 6, "", (*Cluster).editTask},
		{"task-break", 5, "", (*Cluster).breakTask},
		{"task-mend", 4, "", (*Cluster).mendTask},
		{"task-remove", 4, "", (*Cluster).removeTask},
		{"disk-full", 5, smallDisk, (*Cluster).fillDisk},
		{"fsync-fails", 6, injection, (*Cluster).failSync},
		{"write-fails", 5, injection, (*Cluster).failWrite},
		{"disk-slow", 3, injection, (*Cluster).slowDisk},
		{"store-damaged", 3, directory, (*Cluster).damage},
		{"server-restart", 6, server, (*Cluster).restartServer},
		{"server-away", 6, server, (*Cluster).serverAway},
	}
}

// suits tells whether a kind means something to a store in a directory, or on a server.
func (k kind) suits(onServer bool) bool {
	switch k.needs {
	case server:
		return onServer
	case smallDisk, injection, directory:
		return !onServer
	}
	return true
}

// deal makes a deck of n events: each kind by its weight, at least one of each where n allows, shuffled.
func deal(all []kind, n int, chance *rand.Rand) []kind {
	total := 0
	for _, k := range all {
		total += k.weight
	}
	type share struct {
		kind  kind
		count int
		rest  int
	}
	var shares []share
	left := n
	for _, k := range all {
		count := n * k.weight / total
		if count == 0 && n >= len(all) {
			count = 1
		}
		shares = append(shares, share{k, count, n * k.weight % total})
		left -= count
	}
	slices.SortStableFunc(shares, func(a, b share) int {
		return cmp.Or(cmp.Compare(b.rest, a.rest), cmp.Compare(b.kind.weight, a.kind.weight))
	})
	for i := 0; left > 0; i = (i + 1) % len(shares) {
		shares[i].count++
		left--
	}
	for left < 0 { // the ones given for nothing come from the greatest
		i := slices.IndexFunc(shares, func(s share) bool {
			return s.count == slices.MaxFunc(shares,
				func(a, b share) int { return cmp.Compare(a.count, b.count) }).count
		})
		shares[i].count--
		left++
	}
	var deck []kind
	for _, s := range shares {
		for range s.count {
			deck = append(deck, s.kind)
		}
	}
	slices.SortStableFunc(deck, func(a, b kind) int { return cmp.Compare(a.name, b.name) })
	chance.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
	return deck
}

// only keeps the kinds that were asked for; all where none was.
func only(all []kind, names []string) ([]kind, error) {
	if len(names) == 0 {
		return all, nil
	}
	var out []kind
	for _, n := range names {
		i := slices.IndexFunc(all, func(k kind) bool { return k.name == n })
		if i < 0 {
			return nil, fmt.Errorf("there is no kind of event %q", n)
		}
		out = append(out, all[i])
	}
	return out, nil
}
