package node

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"syscall"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/values"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// fullDisk takes so many bytes and then says that it is full.
type fullDisk struct {
	bytes.Buffer
	free int
}

func (d *fullDisk) Write(b []byte) (int, error) {
	if len(b) > d.free {
		n := d.free
		d.Buffer.Write(b[:n])
		d.free = 0
		return n, syscall.ENOSPC
	}
	d.free -= len(b)
	return d.Buffer.Write(b)
}

func (*fullDisk) Close() error { return nil }

// TestAWitnessOnAFullDisk: that lines are lost is said once, and how many when there is space again; a line that was
// written in part spoils no other one.
func TestAWitnessOnAFullDisk(t *testing.T) {
	t.Parallel()
	d := &fullDisk{free: 100}
	var log bytes.Buffer
	w := &witness{member: "m", file: d, log: slog.New(slog.NewTextHandler(&log, nil))}
	for i := range 1000 {
		w.note(0, "start", "p", 1)
		if i == 990 {
			d.free = 1 << 20
		}
	}
	for _, d.free = range []int{10, 1 << 20, 0} { // the first is torn, and the next one is whole
		w.note(0, "start", "p", 1)
	}
	w.close()
	if got := strings.Count(log.String(), "\n"); got != 6 || !strings.Contains(log.String(), "lost=990") ||
		!strings.HasSuffix(log.String(), "lost=1\n") {
		t.Errorf("%d lines:\n%s", got, log.String())
	}
	whole := 0
	for line := range strings.Lines(d.String()) {
		if strings.HasPrefix(line, "{") && strings.HasSuffix(line, "}\n") {
			whole++
		}
	}
	if whole != 11 {
		t.Errorf("%d whole lines:\n%s", whole, d.String())
	}
}

// tenant is a member whose tenure and value a test gives.
type tenant struct {
	protocol.Member
	inc   cluster.Incarnation
	value cluster.Value
	asked int      // of Propose, which does nothing
	says  []string // of the first ones: why they are refused, "" where there is no answer
}

func (m *tenant) Propose(context.Context, ...cluster.Command) ([]cluster.Result, error) {
	m.asked++
	if m.asked > len(m.says) {
		return []cluster.Result{{Accepted: true}}, nil
	}
	if why := m.says[m.asked-1]; why != "" {
		return []cluster.Result{{Reason: why}}, nil
	}
	return nil, store.ErrUnavailable
}

func (m *tenant) Tenure() (cluster.Incarnation, protocol.Instant) { return m.inc, 1 }

func (m *tenant) Value() cluster.Value { return m.value }

// TestAConfirmedMemberPublishes: a member that was confirmed under another heartbeat has another incarnation, and its
// copies of sources count under that one. Found by chaos on a full disk: it published no inventory any more, and no
// task whose file was gone ended.
func TestAConfirmedMemberPublishes(t *testing.T) {
	m := &tenant{inc: 1}
	s := &sources{n: &Node{c: Config{Member: "a"}, member: m}, joined: make(chan struct{})}
	say := func(c cluster.Command) { m.value = values.After(t, m.value, c) }
	say(cluster.PrepareJoin{Member: "a", Heartbeat: "pulse/a/0"})
	s.admitted()
	if inc, ok := s.present(); inc != 1 || !ok {
		t.Fatalf("got %d, %t", inc, ok)
	}
	say(cluster.ConfirmMember{Member: "a", Incarnation: 1, Heartbeat: "pulse/a/1"})
	m.inc = 0
	if _, ok := s.present(); ok {
		t.Error("it publishes before it knows that it was confirmed")
	}
	got, _ := m.value.Member("a")
	m.inc = got.Incarnation
	if inc, ok := s.present(); inc != 2 || !ok {
		t.Errorf("got %d, %t; want that it publishes as 2", inc, ok)
	}
}

// TestSourcesAreDeclared: each is, whatever becomes of the others; a refusal is told and not asked for again. What a
// source says of a definition is told and counts.
func TestSourcesAreDeclared(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		kept, m := journal.NewMemory(9), &tenant{says: []string{"", "no room"}}
		n := &Node{member: m, stats: newStats(), records: journal.NewBuffered(kept, slog.New(slog.DiscardHandler))}
		s := &sources{n: n, names: []string{"a", "b"}}
		s.declare(t.Context())
		s.record(journal.Record{Kind: journal.Malformed, Partition: "x"})
		n.refused("a/b", "torn")
		ended, end := context.WithCancel(t.Context())
		end()
		n.records.Run(ended) // what is left is written
		all := must.Get(kept.Read(t.Context(), journal.Query{}))(t)
		if m.asked != 3 || len(all) != 3 || all[0].Kind != journal.Refused || all[2].Kind != journal.Refused ||
			!strings.Contains(all[0].Message, "a: no room") || all[2].Message != "document a/b: torn" ||
			n.stats.read().malformed != 1 {
			t.Errorf("asked %d times, told %+v", m.asked, all)
		}
		m.asked, m.says = 0, []string{"", ""}
		if s.declare(ended); m.asked != 1 {
			t.Errorf("after the end it asked %d times", m.asked)
		}
	})
}

// shut is a storage that never answers.
type shut struct{}

func (shut) Append(ctx context.Context, _ ...journal.Record) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// TestStorages: each storage gets each record, and one that does not answer delays neither the others nor the journal.
func TestStorages(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		kept, copied := journal.NewMemory(100), journal.NewMemory(100)
		n := start(t, memory.New(), "a",
			func(c *Config) { c.Journal, c.Storages = kept, []journal.Appender{shut{}, copied} })
		await(t, "both have the records", func() bool {
			a, err := kept.Read(t.Context(), journal.Query{})
			b, errB := copied.Read(t.Context(), journal.Query{})
			return err == nil && errB == nil && len(a) > 0 && len(a) == len(b) && a[0].Kind == journal.MemberJoined &&
				b[0].Member == "a"
		})
		if n.Status().JournalDropped != 0 {
			t.Error("a record is counted as lost while a storage may still answer")
		}
		n.leave()
		if n.Status().JournalDropped == 0 {
			t.Error("what the storage did not take is not counted")
		}
	})
}
