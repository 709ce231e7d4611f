package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/swarm"
)

// asProcess in the environment makes this test binary the program itself.
const asProcess = "ROTA_EXAMPLE_LOOP"

func TestMain(m *testing.M) { swarm.Main(m, asProcess, run) }

// took is that a process has taken a record.
type took struct {
	by     *swarm.Process
	of     string // the partition
	offset int64
	token  uint64
	value  string
}

// tally is what the processes have taken. Lines of one process come in its order; those of two come in any, since one's
// may lie in its pipe for a while.
type tally struct {
	t       *testing.T
	by      map[string][]took           // by partition and offset
	spans   map[string]map[uint64]*span // by partition and token
	seen    map[*swarm.Process]bool     // who has taken something
	records int
}

// span is what one run of a partition has taken.
type span struct {
	by          *swarm.Process
	first, last int64
}

func (a *tally) take(line swarm.Line) {
	l := took{by: line.By}
	a.seen[l.by] = true
	if _, err := fmt.Sscanf(line.Text, "took %s %d %d %q", &l.of, &l.offset, &l.token, &l.value); err != nil {
		a.t.Errorf("%s says: %s", l.by.Name, line.Text)
		return
	}
	at := l.of + " " + strconv.FormatInt(l.offset, 10)
	if a.by[at] == nil {
		a.records++
	}
	a.by[at] = append(a.by[at], l)
	if a.spans[l.of] == nil {
		a.spans[l.of] = map[uint64]*span{}
	}
	switch run := a.spans[l.of][l.token]; {
	case run == nil:
		a.spans[l.of][l.token] = &span{l.by, l.offset, l.offset}
	case run.by != l.by:
		a.t.Errorf("%s was taken by %s under the token %d of %s", at, l.by.Name, l.token, run.by.Name)
	case l.offset <= run.last:
		a.t.Errorf("%s was taken by %s out of order, after %d", at, l.by.Name, run.last)
	default:
		run.last = l.offset
	}
}

// check holds runs against each other: but where one was killed, each begins behind the one before, and no record is
// taken by two.
func (a *tally) check() {
	for at, all := range a.by {
		alive := slices.DeleteFunc(slices.Clone(all), func(l took) bool { return l.by.Killed })
		if len(alive) > 1 {
			a.t.Errorf("%s was taken by %s and by %s, and neither was killed", at, alive[0].by.Name, alive[1].by.Name)
		}
	}
	for of, runs := range a.spans {
		var before *span
		for _, token := range slices.Sorted(maps.Keys(runs)) {
			run := runs[token]
			if before != nil && !before.by.Killed && run.first <= before.last {
				a.t.Errorf("%s: %s began at %d under token %d, when %s had come to %d", of, run.by.Name, run.first,
					token, before.by.Name, before.last)
			}
			before = run
		}
	}
}

const (
	partitions = 6
	total      = 6000
	ahead      = 300
)

// produce makes records in small steps until there are enough, not far ahead of those that are taken.
func produce(t *testing.T, brokers []string, more <-chan struct{}, done chan<- error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if err != nil {
		done <- err
		return
	}
	defer client.Close()
	for n := 0; n < total; n += partitions {
		if n >= ahead {
			<-more
		}
		var some []*kgo.Record
		for i := range partitions {
			some = append(some, &kgo.Record{Topic: "orders", Value: []byte(strconv.Itoa(n + i))})
		}
		if err := client.ProduceSync(t.Context(), some...).FirstErr(); err != nil {
			done <- err
			return
		}
	}
	done <- nil
}

// Three processes, one of which is killed while records are made: each is taken, and twice only where a run was cut.
func TestEachRecordIsTaken(t *testing.T) {
	t.Parallel()
	brokers, err := kfake.NewCluster(kfake.NumBrokers(2), kfake.SeedTopics(partitions, "orders"))
	must.Succeed(t, err)
	defer brokers.Close()
	s := swarm.New(t, asProcess, "-store", filepath.Join(t.TempDir(), "store"), "-brokers",
		strings.Join(brokers.ListenAddrs(), ","), "-topics", "orders",
		"-ttl", "30s", "-save", "50ms", "-group", "readers")
	for _, name := range []string{"a", "b", "c"} {
		s.Start(name)
	}
	var made sync.WaitGroup
	produced, more := make(chan error, 1), make(chan struct{}, total)
	made.Go(func() { produce(t, brokers.ListenAddrs(), more, produced) })
	began := time.Now()
	a := play(t, s, produced, more)
	made.Wait()
	a.check()
	again := 0
	for _, l := range a.by {
		again += len(l) - 1
	}
	if a.records != total {
		t.Errorf("%d of %d records were taken", a.records, total)
	}
	t.Logf("%d records of %d partitions in %.1f s; 1 process killed; %d records were taken twice", a.records,
		partitions, time.Since(began).Seconds(), again)
}

// play kills one process where a third is taken and all take part, and ends the others in order when all is.
func play(t *testing.T, s *swarm.Swarm, produced <-chan error, more chan<- struct{}) *tally {
	a := &tally{t: t, by: map[string][]took{}, spans: map[string]map[uint64]*span{}, seen: map[*swarm.Process]bool{}}
	limit := time.NewTimer(4 * time.Minute)
	defer limit.Stop()
	killed, ending, steps := false, false, 0
	for running := len(s.Up); running > 0; {
		select {
		case l := <-s.Lines:
			if l.Ended {
				running--
				if !l.By.Killed && (l.By.Err != nil || !ending) {
					t.Errorf("%s has ended: %v", l.By.Name, l.By.Err)
				}
				continue
			}
			a.take(l)
			for ; steps < a.records/partitions; steps++ {
				more <- struct{}{}
			}
			if !killed && a.records >= total/3 && len(a.seen) == len(s.Up) {
				killed = true
				s.Kill(l.By)
			}
		case err := <-produced:
			if err != nil {
				t.Errorf("produce: %v", err)
				limit.Reset(0)
			}
		case <-limit.C:
			for _, p := range s.Up {
				s.Kill(p)
			}
			t.Fatalf("%d of %d records are taken", a.records, total)
		}
		if a.records == total && !ending {
			ending = true
			s.End()
		}
	}
	return a
}
