package walk

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/proof/sim/machine"
)

// Config bounds a walk.
type Config struct {
	Members    int  // that start
	Partitions int  // of one job that was submitted before
	Crashes    int  // between any two effects
	Restarts   int  // of crashed members, under their names
	Suspicions int  // heartbeats of live members that vanish
	Duplicates int  // appends that are done although their answer is lost, or are done twice
	Failures   int  // appends that the store provably does not do
	Leaves     int  // members that are asked to leave in order
	Forgets    int  // of the group, while nobody is in it
	Guardians  bool // each process has a guardian
	Lines      int  // lines between a process that lives and its guardian that are closed
	Handover   cluster.Handover
	Sweeps     bool // members list all heartbeats when they join, as they do now and then; without, only the watched ones are looked at
	// Prompt makes members read all that is new in one go: at once while they have no append under way, at any time while they have one.
	// That leaves out the states in which a member decides on what is no longer true; what it has decided and not yet written grows
	// old all the same.
	Prompt bool
	// Timeless lets a suspected member go on as if no time had passed: its heartbeat has vanished before its lease was over. No store may do
	// that, so G2 must break. It shows that the walk would notice.
	Timeless bool
}

// String says what is bounded how.
func (c Config) String() string {
	parts := []string{fmt.Sprintf("%d members, %d partitions", c.Members, c.Partitions)}
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(c.Crashes, "crashes")
	add(c.Restarts, "restarts")
	add(c.Suspicions, "suspicions")
	add(c.Duplicates, "duplicates")
	add(c.Failures, "failures")
	add(c.Leaves, "leaves")
	add(c.Forgets, "groups forgotten")
	if c.Guardians {
		parts = append(parts, "guardians")
	}
	add(c.Lines, "lines closed")
	if c.Handover != cluster.HandoverAtMostOne {
		parts = append(parts, c.Handover.String())
	}
	if c.Sweeps {
		parts = append(parts, "sweeps")
	}
	if c.Prompt {
		parts = append(parts, "prompt")
	}
	return strings.Join(parts, ", ")
}

// ttl is any time: nothing passes but the time that a suspected member was away.
const ttl = time.Minute

func params(name cluster.MemberID, start byte) machine.Start {
	return machine.Start{
		Join: cluster.PrepareJoin{Member: name}, Nonce: string('0' + start), TTL: ttl, Rho: 50, Margin: time.Second,
		SnapshotEvery: 1 << 60, Sessions: true,
	}
}

func name(i int) cluster.MemberID { return cluster.MemberID(string(rune('a' + i))) }

const job = cluster.JobID("j")

// founding is the first entry of the log: an operator has submitted the job.
func founding(c Config) cluster.Entry {
	keys := make([]string, c.Partitions)
	for i := range keys {
		keys[i] = string(rune('0' + i))
	}
	task := cluster.TaskSpec{Type: "steady", Spread: cluster.SpreadPartitioned, Handover: c.Handover, Partitions: keys}
	return cluster.Entry{
		Writer: "operator", Seq: 1,
		Commands: []cluster.Command{cluster.SubmitJob{Job: job, Spec: cluster.JobSpec{Version: "1", Tasks: []cluster.TaskSpec{task}}}},
	}
}

// Check tells what of the bounds can't be walked; nil if all can.
func (c Config) Check() error {
	if c.Members < 1 || c.Members > 9 {
		return fmt.Errorf("%d members can't be walked: choose 1 to 9", c.Members)
	}
	if c.Partitions < 1 || c.Partitions > 9 {
		return fmt.Errorf("%d partitions can't be walked: choose 1 to 9", c.Partitions)
	}
	if min(c.Crashes, c.Restarts, c.Suspicions, c.Duplicates, c.Failures, c.Leaves, c.Forgets, c.Lines) < 0 {
		return errors.New("a number of faults is negative")
	}
	return nil
}
