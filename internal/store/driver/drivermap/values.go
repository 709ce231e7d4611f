package drivermap

import (
	"bytes"
	"context"
	"strconv"

	"github.com/rota-run/rota/store/driver"
)

// Keeping is a handle on a [Map] whose logs keep values beside their records.
type Keeping struct{ Ordered }

// OpenKeeping opens a handle.
func (m *Map) OpenKeeping() Keeping { return Keeping{m.OpenOrdered()} }

var _ driver.JournalValues = keeper{}

// keeper is a log with values, as a handle sees it.
type keeper struct{ *journal }

// Journal implements driver.Journals.
func (k Keeping) Journal() driver.Journal { return keeper{&journal{k.Handle, k.m.logs.main, "\x00"}} }

// OpenJournal implements driver.NamedJournals.
func (k Keeping) OpenJournal(ctx context.Context, name string, create bool) (driver.Journal, error) {
	j, err := k.Ordered.open(ctx, name, create)
	return keeper{j}, err
}

// PutValues implements driver.JournalValues.
func (k keeper) PutValues(ctx context.Context, values [][]byte) (at []string, err error) {
	err = k.do(ctx, func(log *records) error {
		if log.values == nil {
			log.values = map[uint64][]byte{}
		}
		for _, v := range values {
			log.put++
			log.values[log.put] = append([]byte{}, v...)
			at = append(at, strconv.FormatUint(log.put, 10))
		}
		return nil
	})
	return at, err
}

// Values implements driver.JournalValues.
func (k keeper) Values(ctx context.Context, at []string) ([][]byte, error) {
	out := make([][]byte, len(at))
	return out, k.do(ctx, func(log *records) error {
		for i, place := range at {
			n, err := strconv.ParseUint(place, 10, 64)
			if err != nil {
				return err
			}
			out[i] = bytes.Clone(log.values[n])
		}
		return nil
	})
}

// FreeValues implements driver.JournalValues.
func (k keeper) FreeValues(ctx context.Context, before string) error {
	return k.do(ctx, func(log *records) error {
		first, err := strconv.ParseUint(before, 10, 64)
		if err != nil {
			return err
		}
		for n := range log.values { // order-free: each is judged alone
			if n < first {
				delete(log.values, n)
			}
		}
		return nil
	})
}
