package kafka_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/sync"
	server "github.com/rota-run/rota/proof/server/kafka"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/kafka"
)

// TestSyncStories runs the stories of the protocol sync on a real broker.
func TestSyncStories(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, place.Members(sync.Protocol{}))
}

// TestSyncStorm runs members whose links to the broker break at random.
func TestSyncStorm(t *testing.T) {
	t.Parallel()
	protocoltest.Storm(t, place.Members(sync.Protocol{}))
}

// TestSyncRecords: kafka-console-consumer prints what members have said, and what it prints is what the guide shows.
func TestSyncRecords(t *testing.T) {
	t.Parallel()
	o := kafka.Options{Brokers: servers(t), Name: freshName(t)}
	open := func(t *testing.T) *kafka.Store { return openWith(t, o) }
	say(t, open)
	page := must.Get(open(t).Read(rig.Deadline(t), 0, 1000))(t)
	printed, err := server.Consumed(rig.LongDeadline(t), o.Brokers, o.Name+".log", len(page.Records))
	server.Require(t, err)
	t.Log("\n" + strings.Join(printed, "\n"))
	if len(printed) != len(page.Records) {
		t.Fatalf("%d lines of %d records", len(printed), len(page.Records))
	}
	for i, r := range page.Records {
		if _, err := sync.DecodeRecord(r.Data); err != nil || printed[i] != string(r.Data) {
			t.Errorf("%v: printed %s, read %s", err, printed[i], r.Data)
		}
	}
	for _, shown := range guide(t) {
		if like := pattern(shown); !slices.ContainsFunc(printed,
			func(l string) bool { return like.MatchString(alike(l)) }) {
			t.Errorf("the guide shows %s\nwhich nobody has written, by %s", shown, like)
		}
	}
	if !slices.ContainsFunc(printed,
		func(l string) bool { return strings.Contains(l, `"leaveCluster":{"member":"web-2"`) }) {
		t.Error("web-2 has not said that it leaves")
	}
}

// guide are the records that the guide shows.
func guide(t *testing.T) (lines []string) {
	t.Helper()
	page := must.Get(os.ReadFile("../../../docs/guide/protocols.md"))(t)
	for l := range strings.Lines(string(page)) {
		if l = strings.TrimSpace(l); strings.HasPrefix(l, `{"syncEpoch"`) {
			lines = append(lines, l)
		}
	}
	if len(lines) < 4 {
		t.Fatalf("the guide shows %d records", len(lines))
	}
	return lines
}

// alike hides what is another one each time: starts, times, numbers; and whether what a member lists is all that it
// owns, for it may have come in two parts.
func alike(s string) string {
	for _, r := range [][2]string{
		{`(web-[0-9])-[0-9a-f]{16}`, "$1-START"}, {`"20[0-9-]+T[0-9:.]+Z"`, `"TIME"`},
		{`"syncEpoch":"1\.[0-9]+/`, `"syncEpoch":"1.N/`},
		{`"(incarnation|generation|token)":[0-9]+`, `"$1":N`}, {`"full":true,`, ""},
		{`group/rota-[0-9a-f-]+`, "group/rota-…"},
	} {
		s = regexp.MustCompile(r[0]).ReplaceAllString(s, r[1])
	}
	return s
}

// pattern is of lines that the guide shows, where … stands for anything.
func pattern(shown string) *regexp.Regexp {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(alike(shown)), "…", ".*") + "$")
}

// say lets web-1 start a job of four partitions, then web-2 join, get its share, and leave.
func say(t *testing.T, open func(t *testing.T) *kafka.Store) {
	t.Helper()
	ctx, first := start(t, open, "web-1")
	spec := cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "read", Spread: cluster.SpreadPartitioned,
		Partitions: []string{"a", "b", "c", "d"}}}}
	if got, err := first.Propose(ctx, cluster.SubmitJob{Job: "changes", Spec: spec}); err != nil || !got[0].Accepted {
		t.Fatal(got, err)
	}
	leaving, leave := context.WithCancel(ctx)
	second, over := run(leaving, t, open, "web-2")
	rig.Eventually(t, "half of the partitions are the second one's",
		func() bool { return owned(second, "web-2") == 2 && owned(first, "web-1") == 2 })
	topic := open(t)
	rig.Eventually(t, "the second one has said that it has them", func() bool {
		page, err := topic.Read(ctx, 0, 1000)
		return err == nil && slices.ContainsFunc(page.Records, func(r store.Record) bool {
			return strings.Contains(string(r.Data), `"own":{"member":"web-2"`) &&
				strings.Contains(string(r.Data), `{"partition":"changes#`)
		})
	})
	leave()
	must.Succeed(t, <-over)
	rig.Eventually(t, "all are the first one's", func() bool { return owned(first, "web-1") == 4 })
}

func owned(m protocol.Member, id cluster.MemberID) (n int) {
	for p := range m.Value().OwnedBy(id) {
		if p.State == cluster.PartitionGranted {
			n++
		}
	}
	return n
}

// start runs a member until the test ends.
func start(t *testing.T, open func(t *testing.T) *kafka.Store, id cluster.MemberID) (context.Context, protocol.Member) {
	t.Helper()
	running, cancel := context.WithCancel(t.Context())
	m, over := run(running, t, open, id)
	t.Cleanup(func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	return rig.LongDeadline(t), m
}

// run runs a member, and a supervisor that has nothing to do, until ctx ends.
func run(ctx context.Context, t *testing.T, open func(t *testing.T) *kafka.Store,
	id cluster.MemberID) (protocol.Member, <-chan error) {
	t.Helper()
	m, err := sync.Protocol{}.New(protocol.Config{Member: id, Store: open(t), TTL: 3 * time.Second,
		LeaveTimeout: time.Minute})
	must.Succeed(t, err)
	over := make(chan error, 1)
	go func() { over <- m.Run(ctx) }()
	go func() {
		for a := range m.Assignments() {
			m.Report(a.Version, nil)
		}
	}()
	return m, over
}

// TestSyncOnThreeBrokers kills the broker that leads the topic of a cluster, and then the one that coordinates its
// group. Each time the members agree again with the two that are left: what they run is shared, each partition has one
// owner, and a new job is placed.
func TestSyncOnThreeBrokers(t *testing.T) {
	c := threeServers(t)
	o := kafka.Options{Brokers: c.Servers(), Name: freshName(t), Timeout: 5 * time.Second}
	open := func(t *testing.T) *kafka.Store { return openWith(t, o) }
	_, first := start(t, open, "web-1")
	_, second := start(t, open, "web-2")
	jobs := 0
	place := func(job cluster.JobID) {
		t.Helper()
		spec := cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "read", Spread: cluster.SpreadPartitioned,
			Partitions: []string{"a", "b", "c", "d"}}}}
		if got, err := first.Propose(rig.LongDeadline(t), cluster.SubmitJob{Job: job, Spec: spec}); err != nil ||
			!got[0].Accepted {
			t.Fatal(got, err)
		}
		jobs++
		rig.Eventually(t, "both members run half of the partitions of "+string(job), func() bool {
			return agreed(first, second) && owned(first, "web-1") == 2*jobs && owned(first, "web-2") == 2*jobs
		})
	}
	place("before")
	for _, victim := range []struct {
		job  cluster.JobID
		find func() int
	}{
		{"without-the-leader", func() int { return leader(t, c, o.Name+".log") }},
		{"without-the-coordinator", func() int { return coordinator(t, c, o.Name) }},
	} {
		dead := victim.find()
		must.Succeed(t, c.Kill(dead))
		place(victim.job)
		must.Succeed(t, c.Restart(rig.LongDeadline(t), dead))
	}
}

// leader is the broker that leads a topic.
func leader(t *testing.T, c *server.Cluster, topic string) int {
	t.Helper()
	return must.Get(c.Leader(rig.LongDeadline(t), topic))(t)
}

// agreed reports whether two members hold the same value.
func agreed(a, b protocol.Member) bool {
	one, other := a.Value(), b.Value()
	return one.Index() == other.Index() && one.Digest() == other.Digest()
}
