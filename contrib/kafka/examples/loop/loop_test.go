package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rota-run/rota/internal/proof/must"
)

// asProcess in the environment makes this test binary the program itself.
const asProcess = "ROTA_EXAMPLE_LOOP"

func TestMain(m *testing.M) {
	if os.Getenv(asProcess) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stdout, "error", err)
		os.Exit(1)
	}
	stop()
}

// took is a line that a process has written.
type took struct {
	by     *process
	of     string // the partition
	offset int64
	token  uint64
	value  string
	fault  string // or what else it has said
	ended  bool   // it will write no more
}

type process struct {
	name   string
	cmd    *exec.Cmd
	killed bool
	err    error
}

// swarm is some processes that share the work.
type swarm struct {
	t     *testing.T
	args  []string
	lines chan took
	up    []*process
}

func (s *swarm) start(name string) {
	cmd := exec.Command(os.Args[0], append([]string{"-member", name}, s.args...)...) //nolint:gosec // this test itself
	cmd.Env = append(os.Environ(), asProcess+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	must.Succeed(s.t, err)
	p := &process{name: name, cmd: cmd}
	s.up = append(s.up, p)
	go s.read(p, out)
}

func (s *swarm) read(p *process, out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		l := took{by: p}
		if _, err := fmt.Sscanf(lines.Text(), "took %s %d %d %q", &l.of, &l.offset, &l.token, &l.value); err != nil {
			l.fault = lines.Text()
		}
		s.lines <- l
	}
	p.err = p.cmd.Wait()
	s.lines <- took{by: p, ended: true}
}

func (s *swarm) signal(p *process, sig syscall.Signal) {
	if err := p.cmd.Process.Signal(sig); err != nil {
		s.t.Error(err)
	}
}

// tally is what the processes have taken. Lines of one process come in its order; those of two come in any, since one's may lie in its pipe for a while.
type tally struct {
	t       *testing.T
	by      map[string][]took           // by partition and offset
	spans   map[string]map[uint64]*span // by partition and token
	seen    map[*process]bool           // who has taken something
	records int
}

// span is what one run of a partition has taken.
type span struct {
	by          *process
	first, last int64
}

func (a *tally) take(l took) {
	a.seen[l.by] = true
	if l.fault != "" {
		a.t.Errorf("%s says: %s", l.by.name, l.fault)
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
		a.t.Errorf("%s was taken by %s under the token %d of %s", at, l.by.name, l.token, run.by.name)
	case l.offset <= run.last:
		a.t.Errorf("%s was taken by %s out of order, after %d", at, l.by.name, run.last)
	default:
		run.last = l.offset
	}
}

// check holds runs against each other: but where one was killed, each begins behind the one before, and no record is taken by two.
func (a *tally) check() {
	for at, all := range a.by {
		alive := slices.DeleteFunc(slices.Clone(all), func(l took) bool { return l.by.killed })
		if len(alive) > 1 {
			a.t.Errorf("%s was taken by %s and by %s, and neither was killed", at, alive[0].by.name, alive[1].by.name)
		}
	}
	for of, runs := range a.spans {
		var before *span
		for _, token := range slices.Sorted(maps.Keys(runs)) {
			run := runs[token]
			if before != nil && !before.by.killed && run.first <= before.last {
				a.t.Errorf("%s: %s began at %d under token %d, when %s had come to %d", of, run.by.name, run.first, token, before.by.name, before.last)
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
	s := &swarm{t: t, lines: make(chan took), args: []string{
		"-store", filepath.Join(t.TempDir(), "store"), "-brokers", strings.Join(brokers.ListenAddrs(), ","), "-topics", "orders", "-ttl", "30s", "-save", "50ms", "-group", "readers"}}
	for _, name := range []string{"a", "b", "c"} {
		s.start(name)
	}
	var made sync.WaitGroup
	produced, more := make(chan error, 1), make(chan struct{}, total)
	made.Go(func() { produce(t, brokers.ListenAddrs(), more, produced) })
	began := time.Now()
	a := s.play(t, produced, more)
	made.Wait()
	a.check()
	again := 0
	for _, l := range a.by {
		again += len(l) - 1
	}
	if a.records != total {
		t.Errorf("%d of %d records were taken", a.records, total)
	}
	t.Logf("%d records of %d partitions in %.1f s; 1 process killed; %d records were taken twice", a.records, partitions, time.Since(began).Seconds(), again)
}

// play kills one process where a third is taken and all take part, and ends the others in order when all is.
func (s *swarm) play(t *testing.T, produced <-chan error, more chan<- struct{}) *tally {
	a := &tally{t: t, by: map[string][]took{}, spans: map[string]map[uint64]*span{}, seen: map[*process]bool{}}
	limit := time.NewTimer(4 * time.Minute)
	defer limit.Stop()
	killed, ending, steps := false, false, 0
	for running := len(s.up); running > 0; {
		select {
		case l := <-s.lines:
			if l.ended {
				running--
				if !l.by.killed && (l.by.err != nil || !ending) {
					t.Errorf("%s has ended: %v", l.by.name, l.by.err)
				}
				continue
			}
			a.take(l)
			for ; steps < a.records/partitions; steps++ {
				more <- struct{}{}
			}
			if !killed && a.records >= total/3 && len(a.seen) == len(s.up) {
				killed, l.by.killed = true, true
				s.signal(l.by, syscall.SIGKILL)
			}
		case err := <-produced:
			if err != nil {
				t.Errorf("produce: %v", err)
				limit.Reset(0)
			}
		case <-limit.C:
			for _, p := range s.up {
				s.signal(p, syscall.SIGKILL)
			}
			t.Fatalf("%d of %d records are taken", a.records, total)
		}
		if a.records == total && !ending {
			ending = true
			for _, p := range s.up {
				if !p.killed {
					s.signal(p, syscall.SIGTERM)
				}
			}
		}
	}
	return a
}
