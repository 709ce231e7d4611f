package appends

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/rota-run/rota/proof/bench/internal/place"
	"github.com/rota-run/rota/proof/bench/stores/internal/bare"
)

// Options of [Run].
type Options struct {
	Kinds         []string // of stores
	Rounds, Calls int
	Out           io.Writer // for people
}

// startTime bounds the start of a server and of a member on it.
const startTime = 2 * time.Minute

// recordSize is that of a usual entry.
const recordSize = 200

// Times are of one side, in microseconds.
type Times struct {
	Median float64 `json:"median_us"` // turn, for each record
	P50    float64 `json:"p50_us"`    // call
	P99    float64 `json:"p99_us"`
}

// Row is one comparison.
type Row struct {
	Store   string  `json:"store"`
	What    string  `json:"what"`
	Callers int     `json:"callers"`
	Rounds  int     `json:"rounds"`
	Calls   int     `json:"calls"` // of each side in a round
	Ours    Times   `json:"ours"`
	Bare    Times   `json:"bare"`
	Ratio   float64 `json:"ratio"` // of speeds, by median turns: 1 is as fast as the bare client
}

// String is a line of the table.
func (r Row) String() string {
	return fmt.Sprintf("%-10s %-8s %8d  %7.0f %7.0f %7.0f  %7.0f %7.0f %7.0f  %5.2f",
		r.Store, r.What, r.Callers, r.Ours.Median, r.Ours.P50, r.Ours.P99, r.Bare.Median, r.Bare.P50, r.Bare.P99, r.Ratio)
}

// kind is one thing that is compared.
type kind struct {
	what    string
	callers int
	records int // of one call
	call    func(ctx context.Context, s bare.Client, data []byte) error
}

// batchSize is how many records a batch has.
const batchSize = 64

func kinds() []kind {
	write := func(ctx context.Context, s bare.Client, data []byte) error { return s.Write(ctx, data) }
	applied := func(ctx context.Context, s bare.Client, data []byte) error { return s.Applied(ctx, data) }
	return []kind{
		{"write", 1, 1, write},
		{"write", 8, 1, write},
		{"write", 64, 1, write},
		{"batch", 1, batchSize, func(ctx context.Context, s bare.Client, data []byte) error { return s.Batch(ctx, data, batchSize) }},
		{"applied", 1, 1, applied},
		{"applied", 8, 1, applied},
		{"applied", 64, 1, applied},
	}
}

// Run compares on each kind of store. A kind that this machine cannot have is said, and left out.
func Run(ctx context.Context, o Options) ([]Row, error) {
	fmt.Fprintf(o.Out, "µs; %d rounds of %d calls in turn, records of %d bytes\n\n%-10s %-8s %8s  %23s  %23s\n%-10s %-8s %8s  %7s %7s %7s  %7s %7s %7s  %5s\n",
		o.Rounds, o.Calls, recordSize, "", "", "", "ours", "bare client", "store", "what", "callers", "median", "p50", "p99", "median", "p50", "p99", "ratio")
	var rows []Row
	for _, k := range o.Kinds {
		all, err := compareOn(ctx, k, o)
		if errors.Is(err, place.ErrMissing) {
			fmt.Fprintf(o.Out, "NOT MEASURED: %v\n", err)
			continue
		}
		if err != nil {
			return rows, fmt.Errorf("%s: %w", k, err)
		}
		rows = append(rows, all...)
	}
	return rows, nil
}

func compareOn(ctx context.Context, store string, o Options) (rows []Row, err error) {
	starting, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	p, err := place.Make(starting, store)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	ours, err := openOurs(starting, p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ours.Close()) }()
	client, err := bare.Open(starting, p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	for _, k := range kinds() {
		r, err := compare(ctx, k, ours, client, o)
		if err != nil {
			return rows, fmt.Errorf("%s by %d: %w", k.what, k.callers, err)
		}
		r.Store = store
		fmt.Fprintln(o.Out, r)
		rows = append(rows, r)
	}
	return rows, nil
}

// compare lets both take turns; who is first changes from round to round.
func compare(ctx context.Context, k kind, ours, theirs bare.Client, o Options) (Row, error) {
	calls := max(o.Calls/k.records, k.callers, 4)
	a, b := &series{Client: ours}, &series{Client: theirs}
	for round := range o.Rounds + 1 {
		first, second := a, b
		if round%2 == 1 {
			first, second = b, a
		}
		for _, s := range []*series{first, second} {
			if err := s.turn(ctx, k, calls); err != nil {
				return Row{}, err
			}
		}
		if round == 0 { // to warm up
			a.turns, a.calls, b.turns, b.calls = nil, nil, nil, nil
		}
	}
	r := Row{What: k.what, Callers: k.callers, Rounds: o.Rounds, Calls: calls, Ours: a.times(k), Bare: b.times(k)}
	r.Ratio = r.Bare.Median / r.Ours.Median
	return r, nil
}

// series are the times of one side.
type series struct {
	bare.Client
	turns, calls []time.Duration
}

// turn makes so many calls.
func (s *series) turn(ctx context.Context, k kind, calls int) error {
	each := calls / k.callers
	took, errs := make([]time.Duration, each*k.callers), make([]error, k.callers)
	var all sync.WaitGroup
	began := time.Now()
	for c := range k.callers {
		all.Go(func() {
			data := record()
			for i := range each {
				sent := time.Now()
				if errs[c] = k.call(ctx, s.Client, data); errs[c] != nil {
					return
				}
				took[c*each+i] = time.Since(sent)
				vary(data)
			}
		})
	}
	all.Wait()
	s.turns = append(s.turns, time.Since(began)/time.Duration(len(took)))
	s.calls = append(s.calls, took...)
	return errors.Join(errs...)
}

// record is one of usual size.
func record() []byte {
	data := make([]byte, recordSize)
	vary(data)
	return data
}

// vary changes a record, so that the next one is not the same.
func vary(data []byte) {
	for i := range 8 {
		data[i] = byte(rand.Uint32())
	}
}

func (s *series) times(k kind) Times {
	return Times{Median: micros(quantile(s.turns, 50)) / float64(k.records), P50: micros(quantile(s.calls, 50)), P99: micros(quantile(s.calls, 99))}
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// quantile is the smallest time that so many of a hundred do not exceed.
func quantile(d []time.Duration, percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[(len(sorted)*percent+99)/100-1]
}
