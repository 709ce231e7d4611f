package kafka_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/protocol/sync"
	"github.com/rota-run/rota/store/kafka"
)

// TestSyncStories runs the stories of the protocol sync on a real broker.
func TestSyncStories(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, protocoltest.Setup{Open: rig.Members(sync.Protocol{}, servers(t), members), TTL: 3 * time.Second})
}

// TestSyncStorm runs members whose links to the broker break at random.
func TestSyncStorm(t *testing.T) {
	t.Parallel()
	protocoltest.Storm(t, protocoltest.Setup{Open: rig.Members(sync.Protocol{}, servers(t), members), TTL: 3 * time.Second})
}

// TestSyncOnAFake runs two members, a join and a leave, on a fake of a broker.
func TestSyncOnAFake(t *testing.T) {
	t.Parallel()
	say(t, faked(t))
}

// TestSyncRecords reads what members have said as a console consumer shows it.
func TestSyncRecords(t *testing.T) {
	t.Parallel()
	open := fresh(t)
	say(t, open)
	log := open(t)
	page, err := log.Read(rig.Deadline(t), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, r := range page.Records {
		if _, err := sync.DecodeRecord(r.Data); err != nil {
			t.Errorf("%s: %v", r.Data, err)
		}
		all += string(r.Data) + "\n"
	}
	t.Log("\n" + all)
	for _, part := range []string{`"epoch":{"start":1`, `"share":{"partitions":[{`, `"own":{"member":"web-2"`, `"stopped":{`, `"leaveCluster":{"member":"web-2"`} {
		if !strings.Contains(all, part) {
			t.Errorf("nobody has said %s", part)
		}
	}
}

// say lets web-1 start a job of four partitions, then web-2 join, get its share, and leave.
func say(t *testing.T, open func(t *testing.T) *kafka.Store) {
	t.Helper()
	ctx, first := start(t, open, "web-1")
	spec := cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "read", Spread: cluster.SpreadPartitioned, Partitions: []string{"a", "b", "c", "d"}}}}
	if got, err := first.Propose(ctx, cluster.SubmitJob{Job: "changes", Spec: spec}); err != nil || !got[0].Accepted {
		t.Fatal(got, err)
	}
	leaving, leave := context.WithCancel(ctx)
	second, over := run(leaving, t, open, "web-2")
	rig.Eventually(t, "half of the partitions are the second one's", func() bool { return owned(second, "web-2") == 2 && owned(first, "web-1") == 2 })
	leave()
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	rig.Eventually(t, "all are the first one's", func() bool { return owned(first, "web-1") == 4 })
}

func owned(m *sync.Member, id cluster.MemberID) (n int) {
	for p := range m.Value().OwnedBy(id) {
		if p.State == cluster.PartitionGranted {
			n++
		}
	}
	return n
}

// start runs a member until the test ends.
func start(t *testing.T, open func(t *testing.T) *kafka.Store, id cluster.MemberID) (context.Context, *sync.Member) {
	t.Helper()
	ctx := rig.LongDeadline(t)
	running, cancel := context.WithCancel(ctx)
	m, over := run(running, t, open, id)
	t.Cleanup(func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	return ctx, m
}

// run runs a member, and a supervisor that has nothing to do, until ctx ends.
func run(ctx context.Context, t *testing.T, open func(t *testing.T) *kafka.Store, id cluster.MemberID) (*sync.Member, <-chan error) {
	t.Helper()
	m, err := sync.New(protocol.Config{Member: id, Store: open(t), TTL: 3 * time.Second, LeaveTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- m.Run(ctx) }()
	go func() {
		for a := range m.Assignments() {
			m.Report(a.Version, nil)
		}
	}()
	return m, over
}
