package cli_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

// A round that somebody asks for is run by the owner, by the next one where the owner dies, and by nobody where there is none to ask for: by each protocol.
func TestRunNow(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"replica", "leader", "lease", "sync"} {
		t.Run(protocol, func(t *testing.T) {
			p := newPlace(t)
			ttl := "30s"
			if protocol == "sync" { // without sessions, a killed member is missed after its TTL
				p.store, ttl = fakeBroker(t), "5s"
			}
			p.task("hourly.yaml", "type: noop\nevery: 1h\n")
			p.task("slow.yaml", "type: noop\nevery: 2h\n")
			p.task("log.yaml", "type: tail\nconfig:\n  paths: [/tmp/rota-run-now.log]\n")
			a := p.start("a", "--protocol", protocol, "--ttl", ttl, "tasks")
			await(t, "three tasks at a", func() bool { return p.owned("a") == 3 })
			p.mustRun("hourly")
			p.start("b", "--protocol", protocol, "--ttl", ttl, "tasks")
			p.must("task", "trigger", "slow", "--store", p.store)
			a.signal(syscall.SIGKILL)
			p.mustRun("slow")
			p.mustRun("hourly")

			for name, why := range map[string]string{ // order-free: each by itself
				"log":  "run-now log: a task of type tail runs all the time, not in rounds",
				"none": "run-now none: no such live task",
			} {
				if _, stderr, code := p.rota("task", "trigger", name, "--store", p.store); code != exitFailed || !strings.Contains(stderr, why) || !strings.Contains(stderr, "try: rota why "+name+" --store "+p.store) {
					t.Errorf("%s: exit %d: %s", name, code, stderr)
				}
			}
			p.must("job", "pause", "hourly", "--store", p.store)
			if _, stderr, code := p.rota("task", "trigger", "hourly", "--store", p.store); code != exitFailed || !strings.Contains(stderr, "it is paused by ") {
				t.Errorf("paused: exit %d: %s", code, stderr)
			}
			out, _, _ := p.rota("events", "--store", p.store)
			for _, want := range []string{"run-now hourly  by ", "run-now slow  by ", "pause-job hourly  by "} {
				if !strings.Contains(out, want) {
					t.Errorf("the journal lacks %q:\n%s", want, out)
				}
			}
		})
	}
}

// mustRun asks for a round, and waits until it is over.
func (p *place) mustRun(task string) {
	p.t.Helper()
	out, stderr, code := p.rota("task", "trigger", task, "--wait", "--store", p.store)
	if code != exitOK || !strings.Contains(stderr, task+" has run a round") {
		p.t.Fatalf("run-now %s: exit %d: %s%s", task, code, out, stderr)
	}
}

// owned is how many tasks of files a member has.
func (p *place) owned(member string) (n int) {
	for _, task := range p.tasks() {
		if task.Owner == member && task.State == "running" && !strings.HasPrefix(task.Task, "rota.") {
			n++
		}
	}
	return n
}

// fakeBroker is a place on a broker inside this process.
func fakeBroker(t *testing.T) string {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.BrokerConfigs(map[string]string{"group.min.session.timeout.ms": "100"}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return "kafka://" + c.ListenAddrs()[0] + "/weather"
}
