// Package measure has what all measurements have in common: how they begin and end, turns of two sides, and the middle
// of what was measured.
package measure

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// ErrUsage ends a measurement with exit code 2: what was wrong with the arguments has been said.
var ErrUsage = flag.ErrHelp

// Main runs a measurement until it ends or is interrupted. Exit codes: 0 it was done, 1 it could not be, 2 usage.
func Main(name string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Code(name, os.Stderr, run(ctx, os.Args[1:], os.Stdout, os.Stderr))
	stop()
	os.Exit(code)
}

// Code says the error, and is the exit code.
func Code(name string, stderr io.Writer, err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrUsage):
		return 2
	}
	fmt.Fprintf(stderr, "%s: %v\n", name, err)
	return 1
}

// InTurn lets two sides take so many turns, and one more before, which does not count: it warms up. Who is first
// changes from round to round, so that what else the machine does hits both.
func InTurn(rounds int, turns [2]func(counts bool) error) error {
	for round := range rounds + 1 {
		for i := range 2 {
			if err := turns[(round+i)%2](round > 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// Quantile is the smallest value that so many of a hundred do not exceed.
func Quantile[T cmp.Ordered](all []T, percent int) T {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[(len(sorted)*percent+99)/100-1]
}

// Median is the value in the middle.
func Median[T cmp.Ordered](all []T) T { return Quantile(all, 50) }
