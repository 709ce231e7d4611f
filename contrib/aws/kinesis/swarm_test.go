package kinesis_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	api "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/contrib/aws/kinesis"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/protocol/replica"
	"github.com/rota-run/rota/store/file"
)

// asMember in the environment makes this test binary a member that reads the stream.
const asMember = "ROTA_TEST_KINESIS_MEMBER"

func TestMain(m *testing.M) {
	if os.Getenv(asMember) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	if err := member(ctx, os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	stop()
}

// member reads the stream until ctx ends. Each record is a line of a file to which all members append.
func member(ctx context.Context, name, dir, url string) error {
	s, err := file.Open(ctx, filepath.Join(dir, "store"), file.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	//nolint:gosec // of the test
	out, err := os.OpenFile(filepath.Join(dir, "out"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	take := func(_ context.Context, g *rota.Grant, records []types.Record) error {
		text := "\n" // another one may have left a line without its end
		for _, r := range records {
			text += fmt.Sprintf("%s %s %d %s %s %s .\n", name, g.Key, g.Token, *r.SequenceNumber, *r.PartitionKey,
				r.Data)
		}
		// A kill shall hit before the lines are there, and where the position is not saved yet.
		time.Sleep(5 * time.Millisecond) // waits: for a kill
		_, err := out.WriteString(text)
		time.Sleep(5 * time.Millisecond) // waits: for a kill
		return err
	}
	orders := kinesis.NewType("orders", kinesis.Records{Load: load, Take: take})
	m, err := rota.Join(ctx, rota.Config{Member: name, Store: s, TTL: 3 * time.Second, Types: []rota.Type{orders}})
	if err != nil {
		return err
	}
	c := kinesis.Config{Endpoint: url, Poll: 4 * quick, Batch: 50}
	if err := m.Submit(ctx, "orders", kinesis.Task("orders", c, "orders")); err != nil {
		return err
	}
	<-ctx.Done()
	return m.Leave(context.WithoutCancel(ctx))
}

const quick = 50_000_000 // ns

// line is a record that was taken.
type line struct {
	member, shard string
	token         uint64
	at, key       string
	n             int
}

// read returns the lines that have their ends.
func read(text []byte) (lines []line) {
	for one := range strings.Lines(string(text)) {
		var l line
		if whole, ok := strings.CutSuffix(one, " .\n"); ok {
			if _, err := fmt.Sscan(whole, &l.member, &l.shard, &l.token, &l.at, &l.key, &l.n); err == nil {
				lines = append(lines, l)
			}
		}
	}
	return lines
}

// taken is what lines have.
type taken struct {
	records, shards, again, old int
	last                        string // the member that has written last
}

// check reads lines as they come.
type check struct {
	taken
	next   map[string]int    // by key
	newest map[string]line   // by shard
	place  map[string]string // the shard of each record
}

func newCheck() *check {
	return &check{next: map[string]int{}, newest: map[string]line{}, place: map[string]string{}}
}

// add returns what is wrong: a record that is missing, out of the order of its key, or twice under one token.
func (c *check) add(l line) error {
	last := c.newest[l.shard]
	switch record := fmt.Sprint(l.key, " ", l.n); {
	case l.token < last.token:
		c.old++
		return nil
	case l.token == last.token && number(l.at).Cmp(number(last.at)) <= 0:
		return fmt.Errorf("%+v comes behind %+v", l, last)
	case l.n > c.next[l.key]:
		return fmt.Errorf("%+v comes where record %d of its key should", l, c.next[l.key])
	case l.n == c.next[l.key]:
		c.next[l.key]++
		c.place[record] = l.shard
		c.records++
	case c.place[record] != l.shard:
		return fmt.Errorf("%+v was taken from %s", l, c.place[record])
	default:
		c.again++ // under a newer token: else it would come behind the last one
	}
	c.newest[l.shard], c.last = l, l.member
	c.shards = len(c.newest)
	return nil
}

// swarm is some processes that read a stream, and who writes it.
type swarm struct {
	*server
	dir string
	up  map[string]*exec.Cmd
	put int // records of each key

	check *check
	seen  int64 // so many bytes of the lines were read
}

// perKey is how many keys have records.
const perKey = 100

func (s *swarm) start(name string) {
	s.t.Helper()
	cmd := exec.Command(os.Args[0], name, s.dir, s.url) //nolint:gosec // this test itself
	cmd.Env = append(os.Environ(), asMember+"=1")
	cmd.Stderr = os.Stderr
	must.Succeed(s.t, cmd.Start())
	s.up[name] = cmd
}

// write puts one record of each key.
func (s *swarm) write() {
	s.t.Helper()
	var all []types.PutRecordsRequestEntry
	for k := range perKey {
		key := fmt.Sprint("k", k)
		all = append(all, types.PutRecordsRequestEntry{PartitionKey: &key, Data: fmt.Append(nil, s.put)})
	}
	out, err := s.PutRecords(s.ctx, &api.PutRecordsInput{StreamName: name, Records: all})
	if err != nil || *out.FailedRecordCount > 0 {
		s.t.Fatalf("%v, %v", out, err)
	}
	s.put++
}

// turn writes while the stream changes.
func (s *swarm) turn(change func()) {
	s.t.Helper()
	s.write()
	change()
	for !s.active() {
		s.write()
	}
}

// taken is what was taken so far.
func (s *swarm) taken() taken {
	s.t.Helper()
	text := s.more()
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	s.seen += int64(len(text))
	for _, l := range read(text) {
		must.Succeed(s.t, s.check.add(l))
	}
	return s.check.taken
}

// more is what was written since.
func (s *swarm) more() []byte {
	s.t.Helper()
	f, err := os.Open(filepath.Join(s.dir, "out"))
	if os.IsNotExist(err) {
		return nil
	}
	must.Succeed(s.t, err)
	defer f.Close()
	text, err := io.ReadAll(io.NewSectionReader(f, s.seen, 1<<40))
	must.Succeed(s.t, err)
	return text
}

// kill ends the process that has written last, and another one, at once, comes in its place.
func (s *swarm) kill() {
	s.t.Helper()
	last := s.taken().last
	if err := s.up[last].Process.Kill(); err != nil {
		s.t.Error(err)
	}
	_ = s.up[last].Wait()
	s.start(last)
}

// Three processes read a stream whose 8 shards become 64 and then 8 again. Six times the one that
// has written last is killed, in the middle of the splits and of the merges: each record is taken,
// once under each token, in the order of its key.
func TestShardsSplitAndMergeUnderKills(t *testing.T) {
	s := &swarm{server: serve(t, 8), dir: t.TempDir(), up: map[string]*exec.Cmd{}, check: newCheck()}
	t.Cleanup(func() {
		for _, p := range s.up {
			_ = p.Process.Kill()
			_ = p.Wait()
		}
	})
	for _, name := range []string{"a", "b", "c"} {
		s.start(name)
	}
	began := time.Now()
	for _, want := range []int{16, 32, 64, 32, 16, 8} {
		open := s.open()
		for i, one := range open {
			switch {
			case want > len(open):
				s.turn(func() { s.split(one) })
			case i%2 == 1:
				s.turn(func() { s.merge(open[i-1], one) })
			}
			if i == len(open)/2 {
				s.await("somebody reads", func() bool { return s.taken().last != "" })
				s.kill()
			}
		}
		if n := len(s.open()); n != want {
			t.Fatalf("%d shards, want %d", n, want)
		}
		all := s.put * perKey
		s.await(fmt.Sprintf("all %d records are taken", all), func() bool { return s.taken().records == all })
		s.awaitPartitions(want)
		t.Logf("%.1f s: %d shards, %+v", time.Since(began).Seconds(), want, s.taken())
	}
}

// awaitPartitions waits until so many partitions are not finished, and looks whether one has failed meanwhile.
func (s *swarm) awaitPartitions(unfinished int) {
	s.t.Helper()
	st, err := file.Open(s.ctx, filepath.Join(s.dir, "store"), file.Options{ReadOnly: true})
	must.Succeed(s.t, err)
	defer st.Close()
	s.await(fmt.Sprintf("%d shards are read", unfinished), func() bool {
		v, err := replica.Protocol{}.Observe(s.ctx, st, cluster.Value{})
		must.Succeed(s.t, err)
		n := 0
		for p := range v.Partitions() {
			if p.State != cluster.PartitionFinished {
				n++
			}
			if p.Message != "" || p.Attempts > 0 {
				s.t.Fatalf("%s has failed: %s", p.ID, p.Message)
			}
		}
		return n == unfinished
	})
}
