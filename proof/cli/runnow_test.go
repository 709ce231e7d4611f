package cli_test

import (
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/rota-run/rota/internal/proof/must"
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
			p.awaitShares(3, "a:3")
			p.tells("task trigger hourly --wait", "hourly has run a round")
			p.start("b", "--protocol", protocol, "--ttl", ttl, "tasks")
			p.says("task trigger slow", exitOK)
			a.signal(syscall.SIGKILL)
			p.tells("task trigger slow --wait", "slow has run a round")
			p.tells("task trigger hourly --wait", "hourly has run a round")

			for name, why := range map[string]string{ // order-free: each by itself
				"log":  "run-now log: a task of type tail runs all the time, not in rounds",
				"none": "run-now none: no such live task",
			} {
				p.says("task trigger "+name, exitFailed, why, "try: rota why "+name+" --store "+p.store)
			}
			p.says("job pause hourly", exitOK)
			p.says("task trigger hourly", exitFailed, "it is paused by ")
			p.says("events", exitOK, "run-now hourly  by ", "run-now slow  by ", "pause-job hourly  by ")
		})
	}
}

// fakeBroker is a place on a broker inside this process.
func fakeBroker(t *testing.T) string {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.BrokerConfigs(map[string]string{"group.min.session.timeout.ms": "100"}))
	must.Succeed(t, err)
	t.Cleanup(c.Close)
	return "kafka://" + c.ListenAddrs()[0] + "/weather"
}
