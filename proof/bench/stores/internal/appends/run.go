// Package appends measures appends through our log beside the same writes by the bare client of the store.
//
// # How
//
// Both write records of 200 bytes to one fresh server, through a connection of their own, in turns: some writes of
// ours, as many of the bare client, then the other way round, so that what else the machine does hits both. The first
// turn of each does not count. A ratio is the bare client's median turn divided by ours: 1 is as fast, less is slower.
// Times of single calls are told beside it, their median and the slowest of a hundred.
//
// # What is compared
//
//   - write: Log.Append; the bare client puts a new key (etcd), publishes a message and waits for its acknowledgement
//     (NATS), creates a node (ZooKeeper), creates a document (Elasticsearch), inserts a row with the same settings
//     (SQLite). It has no head to keep, no order that others can read without a list of all names, and no way to tell
//     what a lost answer did: the ratio is the one least in our favour.
//   - batch: 64 callers append at once, as the members of a busy process do; the bare client puts 64 records into one
//     request (or messages, without waiting for each).
//   - applied: a command proposed to a member that is joined, until it stands in the member's value; the bare client
//     writes and reads back what it wrote.
package appends

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/proof/bench/internal/measure"
	"github.com/rota-run/rota/proof/bench/internal/place"
	"github.com/rota-run/rota/proof/bench/stores/internal/bare"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
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
		r.Store, r.What, r.Callers, r.Ours.Median, r.Ours.P50, r.Ours.P99, r.Bare.Median, r.Bare.P50, r.Bare.P99,
		r.Ratio)
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
		{"batch", 1, batchSize, func(ctx context.Context, s bare.Client, data []byte) error {
			return s.Batch(ctx, data, batchSize)
		}},
		{"applied", 1, 1, applied},
		{"applied", 8, 1, applied},
		{"applied", 64, 1, applied},
	}
}

// Run compares on each kind of store. A kind that this machine cannot have is said, and left out.
func Run(ctx context.Context, o Options) ([]Row, error) {
	fmt.Fprintf(o.Out, "µs; %d rounds of %d calls in turn, records of %d bytes\n\n%-10s %-8s %8s  %23s  %23s\n%-10s %-8s %8s  %7s %7s %7s  %7s %7s %7s  %5s\n",
		o.Rounds, o.Calls, recordSize, "", "", "", "ours", "bare client", "store", "what", "callers", "median", "p50",
		"p99", "median", "p50", "p99", "ratio")
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
	turn := func(s *series) func(bool) error {
		return func(counts bool) error { return s.turn(ctx, k, calls, counts) }
	}
	if err := measure.InTurn(o.Rounds, [2]func(bool) error{turn(a), turn(b)}); err != nil {
		return Row{}, err
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
func (s *series) turn(ctx context.Context, k kind, calls int, counts bool) error {
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
	if !counts {
		return errors.Join(errs...)
	}
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
	return Times{Median: micros(measure.Median(s.turns)) / float64(k.records), P50: micros(measure.Median(s.calls)),
		P99: micros(measure.Quantile(s.calls, 99))}
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// ours is a log, and a member on another log beside it.
type ours struct {
	log, store store.Full
	member     protocol.Member
	leave      context.CancelFunc
	all        sync.WaitGroup
	err        error // how the member ended; read it when all has
}

// job is what is edited again and again.
const job = "bench"

func openOurs(ctx context.Context, p *place.Place) (_ *ours, err error) {
	o := &ours{leave: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.Close())
		}
	}()
	if o.log, err = p.Open(ctx, "log"); err != nil {
		return nil, err
	}
	if o.store, err = p.Open(ctx, "member"); err != nil {
		return nil, err
	}
	joined := make(chan struct{}, 1)
	o.member, err = replica.Protocol{}.New(protocol.Config{Member: "bench", Store: o.store,
		Events: protocol.Events{Joined: func(cluster.Incarnation) { joined <- struct{}{} }}})
	if err != nil {
		return nil, err
	}
	run, leave := context.WithCancel(context.WithoutCancel(ctx))
	o.leave = leave
	o.all.Go(func() { o.err = o.member.Run(run) })
	o.all.Go(func() { obey(o.member) })
	select {
	case <-joined:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the member to join: %w", context.Cause(ctx))
	}
	return o, o.propose(ctx, cluster.SubmitJob{Job: job, Spec: spec(nil)})
}

// obey takes in all assignments and runs nothing.
func obey(m protocol.Member) {
	for a := range m.Assignments() {
		m.Report(a.Version, []protocol.Report{})
	}
}

func spec(data []byte) cluster.JobSpec {
	definition := fmt.Appendf(nil, `{"tags":{"data":"%x"}}`, data[:len(data)/2])
	return cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "none", Definition: definition}}}
}

func (o *ours) propose(ctx context.Context, c cluster.Command) error {
	res, err := o.member.Propose(ctx, c)
	if err == nil && !res[0].Accepted {
		err = fmt.Errorf("refused: %s", res[0].Reason)
	}
	return err
}

func (o *ours) Write(ctx context.Context, data []byte) error {
	_, err := o.log.Append(ctx, data)
	return err
}

func (o *ours) Batch(ctx context.Context, data []byte, n int) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = o.Write(ctx, data) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// applied changes the job: a command of about the size of data.
func (o *ours) Applied(ctx context.Context, data []byte) error {
	return o.propose(ctx, cluster.UpdateJob{Job: job, Spec: spec(data)})
}

func (o *ours) Close() error {
	o.leave()
	o.all.Wait()
	err := o.err
	for _, s := range []store.Full{o.log, o.store} {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	return err
}
