package measure

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestInTurn: the first round does not count, and who is first changes.
func TestInTurn(t *testing.T) {
	t.Parallel()
	var got []string
	side := func(name string) func(bool) error {
		return func(counts bool) error {
			got = append(got, fmt.Sprint(name, counts))
			return nil
		}
	}
	err := InTurn(2, [2]func(bool) error{side("a "), side("b ")})
	if want := []string{"a false", "b false", "b true", "a true", "a true", "b true"}; err != nil ||
		!slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	broken := errors.New("broken")
	if err := InTurn(9, [2]func(bool) error{side("a "), func(bool) error { return broken }}); !errors.Is(err, broken) ||
		len(got) != 7 {
		t.Errorf("after a failed turn: %v, turns %q", err, got)
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	all := []int{5, 1, 4, 2, 3}
	if Median(all) != 3 || Quantile(all, 99) != 5 || Quantile(all, 1) != 1 || Median([]int{2, 1}) != 1 || all[0] != 5 {
		t.Errorf("median %d, 99th %d, 1st %d, of two %d, and now %v", Median(all), Quantile(all, 99), Quantile(all, 1),
			Median([]int{2, 1}), all)
	}
}

func TestCode(t *testing.T) {
	t.Parallel()
	for want, err := range []error{nil, errors.New("broken"), fmt.Errorf("flags: %w", ErrUsage)} {
		var said strings.Builder
		if got := Code("x", &said, err); got != want || (said.String() == "x: broken\n") != (want == 1) {
			t.Errorf("%v: exit %d, said %q", err, got, said.String())
		}
	}
}
