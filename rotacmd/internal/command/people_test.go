package command

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/output"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

func within(t *testing.T, s store.Full) (*observer, *output.Text) {
	t.Helper()
	var out output.Text
	return &observer{env: env{stdout: &out, stderr: &out}, name: "memory:", store: s, now: time.Now()}, &out
}

// TestFollowTheJournal: each record is shown once, also one that comes late or while another one is shown or the store
// is away, and one that looks like an older one. Those of other kinds are not.
func TestFollowTheJournal(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := &moody{Full: memory.New().Open()}
		defer s.Close()
		j, kind, task := journal.NewDocs(s, "a", 0), journal.RunError, "web"
		add := func(message string, ago time.Duration) {
			t.Helper()
			r := journal.Record{AtMS: time.Now().Add(-ago).UnixMilli(), Kind: kind, Partition: task, Message: message}
			must.Succeed(t, j.Append(t.Context(), r))
		}
		add("first", 0)
		o, out := within(t, s)
		records := must.Get(o.journal(t.Context(), journal.Query{}))(t)
		follower := tail{o: o, query: journal.Query{Partition: "web", Kinds: []journal.Kind{kind}}, shown: make(map[string]int64)}
		must.Succeed(t, follower.show(records))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- follower.follow(ctx) }()
		for i := range 3 * 3600 / 100 { // three hours: what was shown long ago is forgotten, and not shown again
			time.Sleep(100 * time.Second) // waits: in virtual time
			add("again", 0)
			if i == 5 {
				add("late", 3*time.Minute)
				s.away.Store(3)
			}
		}
		kind = journal.Asked
		add("first", 0)
		kind, task = journal.RunError, "db"
		add("first", 0)
		time.Sleep(2 * lookEvery) // waits: in virtual time
		stop()
		must.Succeed(t, <-ended)
		if n := len(follower.shown); n > 20 {
			t.Errorf("it remembers %d records", n)
		}
		text := out.String()
		if strings.Count(text, "first") != 1 || strings.Count(text, "late") != 1 ||
			strings.Count(text, "again") != 109 {
			t.Errorf("first %d, late %d, again %d times of 109", strings.Count(text, "first"),
				strings.Count(text, "late"), strings.Count(text, "again"))
		}
		if strings.Count(text, "still waiting") != 1 || strings.Count(text, "answers again") != 1 {
			t.Errorf("it said\n%s", text)
		}
	})
}

// TestASignalSentTwice is one, and another one after that stays.
func TestASignalSentTwice(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 4)
		signals <- syscall.SIGTERM
		time.AfterFunc(time.Millisecond, func() { signals <- syscall.SIGTERM })
		time.AfterFunc(time.Second, func() { signals <- syscall.SIGINT })
		dropEchoes(signals)
		if s := <-signals; s != syscall.SIGINT {
			t.Errorf("%v is left", s)
		}
	})
}

func TestWhatASignalAsksFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s        os.Signal
		terminal bool
		want     request
	}{
		{syscall.SIGHUP, false, reload}, {syscall.SIGHUP, true, leave}, {syscall.SIGTERM, false, leave},
		{syscall.SIGINT, true, leave}, {syscall.SIGPIPE, false, leave},
	} {
		if got := asks(c.s, c.terminal); got != c.want {
			t.Errorf("%v with terminal %v: got %v, want %v", c.s, c.terminal, got, c.want)
		}
	}
	var out output.Text
	c := &config{env: env{stderr: &out}}
	c.node.Publisher = stuck{}
	c.reload()
	if text := out.String(); !strings.Contains(text, "the disk is full; samples go on") ||
		strings.Contains(text, "reloaded") {
		t.Errorf("a reload that failed: %s", text)
	}
	c.node.Publisher, c.sampleText = nil, "samples to stdout"
	if c.reload(); !strings.Contains(out.String(), "reloaded: samples to stdout; ") {
		t.Errorf("a reload: %s", out.String())
	}
}

// stuck is a sink that cannot be opened again.
type stuck struct{ publish.Publisher }

func (stuck) Reopen() error { return errors.New("the disk is full") }

// TestCompany: a value that does not know of the member yet says nothing of others.
func TestCompany(t *testing.T) {
	t.Parallel()
	one := []cluster.Member{{ID: "a", Incarnation: 3, State: cluster.MemberJoined},
		{ID: "c", Incarnation: 2, State: cluster.MemberHeld}}
	two := append(one, cluster.Member{ID: "b", Incarnation: 4, State: cluster.MemberJoined})
	for want, v := range map[string]cluster.Value{
		"joined":                     {},
		"joined as the first member": cluster.Assemble(cluster.Parts{Index: 4, Members: one}),
		"joined 1 other member":      cluster.Assemble(cluster.Parts{Index: 4, Members: two}),
	} {
		if got := company(v, "a", 3); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := company(cluster.Assemble(cluster.Parts{Index: 4, Members: two}), "a", 5); got != "joined" {
		t.Errorf("by a value from before it joined again: %q", got)
	}
}

// TestMovedHere: what starts again, or comes back, has not moved here.
func TestMovedHere(t *testing.T) {
	from := func(m cluster.MemberID) *protocol.Grant { return &protocol.Grant{From: m} }
	for what, c := range map[string]struct {
		r    supervisor.RunStarted
		want bool
	}{
		"it came":            {supervisor.RunStarted{Partition: "x", Grant: from("b"), First: true}, true},
		"it starts again":    {supervisor.RunStarted{Partition: "x", Grant: from("b")}, false},
		"it is new":          {supervisor.RunStarted{Partition: "x", Grant: from(""), First: true}, false},
		"this member had it": {supervisor.RunStarted{Partition: "x", Grant: from("a"), First: true}, false},
		"it is of Rota itself": {supervisor.RunStarted{Partition: "rota.source.tasks", Grant: from("b"), First: true},
			false},
	} {
		if got := movedHere(c.r, "a"); got != c.want {
			t.Errorf("%s: got %v", what, got)
		}
	}
	virtual.Test(t, func(t *testing.T) { // those of a second are told together
		var out output.Text
		w := &welcome{c: &config{env: env{stderr: &out}}, begun: true}
		for i := range 6 {
			w.started(supervisor.RunStarted{Partition: "x", Grant: from("b"), First: true})
			time.Sleep(time.Duration(i%3) * 700 * time.Millisecond) // waits: in virtual time
		}
		if n := strings.Count(out.String(), "3 tasks moved here from others"); n != 2 {
			t.Errorf("it said\n%s", out.String())
		}
		w.started(supervisor.RunStarted{Partition: "x", Grant: from("b"), First: true})
		w.tellMoved() // it leaves
		told := out.String()
		time.Sleep(2 * time.Second) // waits: in virtual time
		if !strings.HasSuffix(told, "1 task moved here from others\n") || out.String() != told {
			t.Errorf("it said\n%s, and in the end\n%s", told, out.String())
		}
	})
}

// TestADrainThatNobodyCanHelp says so at once, and ends.
func TestADrainThatNobodyCanHelp(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := memory.New().Open()
		defer s.Close()
		for _, c := range []cluster.Command{
			cluster.PrepareJoin{Member: "a", Heartbeat: "pulse/a/1"},
			cluster.SubmitJob{Job: "x", Spec: one(cluster.SpreadSingle)}, cluster.DrainMember{Member: "a", On: true},
		} {
			if res, err := replica.NewClient(s).Propose(t.Context(), c); err != nil || !res[0].Accepted {
				t.Fatal(c, res, err)
			}
		}
		o, out := within(t, s)
		must.Succeed(t, o.refresh(t.Context()))
		d := draining{observer: o, member: "a"}
		began := time.Now()
		err := o.watch(t.Context(), d.see)
		if took := time.Since(began); err == nil || took != drainPatience || !strings.Contains(err.Error(),
			"a still has 1 task, and none has gone for 2m: nobody can take 1 task of a, such as x: members: ") {
			t.Errorf("after %s: %v", took, err)
		}
		if want := "! nobody can take 1 task of a, such as x: members: no member has joined; it waits for 2m\na has 1 task\n"; out.String() != want {
			t.Errorf("it said\n%swant\n%s", out.String(), want)
		}
	})
}
