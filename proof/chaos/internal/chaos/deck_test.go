package chaos

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func namesOf(deck []kind) []string {
	var out []string
	for _, k := range deck {
		out = append(out, k.name)
	}
	return out
}

func TestDeck(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := kinds()
		all = all[:rapid.IntRange(1, len(all)).Draw(t, "kinds")]
		n := rapid.IntRange(1, 300).Draw(t, "events")
		seed := rapid.Uint64().Draw(t, "seed")
		deck := namesOf(deal(all, n, rand.New(rand.NewPCG(seed, 1))))
		if len(deck) != n {
			t.Fatalf("%d events, want %d", len(deck), n)
		}
		if again := namesOf(deal(all, n, rand.New(rand.NewPCG(seed, 1)))); !slices.Equal(again, deck) {
			t.Fatal("the same seed dealt another deck")
		}
		for _, k := range all {
			if n >= len(all) && !slices.Contains(deck, k.name) {
				t.Fatalf("%d events of %d kinds, and %s is not among them", n, len(all), k.name)
			}
		}
	})
}

func TestOnly(t *testing.T) {
	t.Parallel()
	some, err := only(kinds(), []string{"kill", "leave"})
	if err != nil || !slices.Equal(namesOf(some), []string{"kill", "leave"}) {
		t.Errorf("got %v, %v", namesOf(some), err)
	}
	if _, err := only(kinds(), []string{"earthquake"}); err == nil {
		t.Error("an unknown kind is taken")
	}
}
