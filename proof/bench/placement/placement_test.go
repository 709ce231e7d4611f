package main

import (
	"fmt"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/schedule"
)

// Both end with even shares, and Rota moves no more than the peer. Without this the figures would compare different
// things.
func TestBothAreEven(t *testing.T) {
	t.Parallel()
	for _, change := range []string{"leave", "join", "start"} {
		in := must.Get(newInput(change, 20, 1003, 7))(t)
		o := newOurs(in)
		ours := o.owners(schedule.Place(o.view(), -1))
		if n := spread(ours, in.members); n > 1 {
			t.Errorf("%s: shares of Rota differ by %d", change, n)
		}
		theirs := peerOwners(t, in)
		if in.moves(ours) > in.moves(theirs) {
			t.Errorf("%s: Rota moves %d, the peer %d", change, in.moves(ours), in.moves(theirs))
		}
		if change != "join" { // the peer gives moved partitions to their new owner in a second round
			if n := spread(theirs, in.members); n > 1 {
				t.Errorf("%s: shares of the peer differ by %d", change, n)
			}
		}
	}
}

func peerOwners(t *testing.T, in input) []int {
	t.Helper()
	p := newPeer(in)
	b := must.Get(p.decode())(t)
	plan := must.Get(p.balance(b))(t)
	after := must.Get(p.owners(plan))(t)
	return after
}

// spread is the difference between the largest and the smallest share; a partition without an owner makes it too large.
func spread(owner []int, members int) int {
	n := make([]int, members)
	for _, o := range owner {
		if o < 0 {
			return len(owner)
		}
		n[o]++
	}
	low, high := n[0], n[0]
	for _, k := range n {
		low, high = min(low, k), max(high, k)
	}
	return high - low
}

func BenchmarkPlacement(b *testing.B) {
	for _, change := range []string{"leave", "join"} {
		in, err := newInput(change, 1000, 100_000, 10)
		must.Succeed(b, err)
		o, p := newOurs(in), newPeer(in)
		b.Run(fmt.Sprintf("%s/rota", change), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				schedule.Place(o.view(), -1)
			}
		})
		b.Run(fmt.Sprintf("%s/peer", change), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				balancer, err := p.decode()
				must.Succeed(b, err)
				if _, err := p.balance(balancer); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
