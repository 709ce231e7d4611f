package sim

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/proof/sim/machine"
)

// lift ends all faults: what was cut is joined, what was paused goes on, what lingered returns.
func (w *world) lift() {
	w.healing = true
	w.waiting = nil
	w.disk.away, w.disk.full = false, false
	for _, p := range w.processes(alive) {
		p.cutOut, p.cutIn, p.armed, p.dieAt, p.slowWork = false, false, nil, -1, 0
		p.resume()
		p.guard.recover()
		for _, r := range p.runs {
			r.lingers = false
			if r.stopping {
				r.returns(0, supervisor.Stopped)
			}
		}
	}
}

// heal ends all faults and checks G9: everything is granted and runs again in time. Then it measures single failures.
func (w *world) heal() {
	w.lift()
	if len(w.processes(alive)) == 0 {
		for i := range w.plan.members {
			w.start(cluster.MemberID(fmt.Sprintf("m%02d", i)))
		}
	}
	w.client.takeBack()
	began := w.now
	bound := w.recoveryBound() + w.holdBound()
	healed := w.until(began+int64(bound), w.served)
	if late := w.holdBound(); !healed && late > 0 && bound == w.recoveryBound() { // announced before the end of the faults, in the log after it
		bound += late
		healed = w.until(began+int64(bound), w.served)
	}
	if !healed {
		w.oracle.violate("G9", "%s after the last fault: %s", bound, w.unserved())
		return
	}
	w.result.Recovery = Timed{time.Duration(w.now - began), bound}
	probe := func(k machine.Kind) func() { return func() { w.probe(k) } }
	for _, check := range []func(){
		w.shared, w.still, w.evened, probe(machine.Crash), probe(machine.PauseLong), probe(machine.LeaveInOrder),
		w.drained, w.tidied,
	} {
		if !w.broken() {
			check()
		}
	}
}

// still is the second half of G8: nothing moves without a cause.
func (w *world) still() {
	w.until(w.now+2*int64(w.plan.ttl), func() bool { return laidOut(&w.oracle.ref) })
	causes, tokens := w.causes(), w.steadyTokens()
	w.pass(2 * w.plan.ttl)
	if w.broken() || w.causes() != causes {
		return // a write that was late for minutes may still change who is there, and a partition that is done changes the load
	}
	if after := w.steadyTokens(); after != tokens {
		w.oracle.violate("G8", "partitions moved though no member came or went: %s, then %s", tokens, after)
	}
}

// causes is all that placement depends on.
func (w *world) causes() string {
	out := ""
	for j := range w.oracle.ref.Jobs() {
		out += fmt.Sprintf("%s:%d ", j.ID, j.SpecIndex)
	}
	for p := range w.oracle.ref.Partitions() {
		out += fmt.Sprintf("%s:%t ", p.ID, p.State == cluster.PartitionFinished || p.State == cluster.PartitionParked)
	}
	for m := range w.oracle.ref.Members() {
		out += fmt.Sprintf("%s/%d/%d ", m.ID, m.Incarnation, m.State)
	}
	return out
}

func (w *world) steadyTokens() string {
	out := ""
	for p := range w.oracle.ref.Partitions() {
		if steady(p) && p.Attempts == 0 {
			out += fmt.Sprintf("%s=%d ", p.ID, p.Token)
		}
	}
	return out
}

// steady: it runs until it is told to stop, so that somebody must be running it. One whose owners have died three times
// in a row is parked: as far as the cluster can know, it kills them.
func steady(p cluster.Partition) bool {
	job, _, _ := p.ID.Split()
	if p.State == cluster.PartitionParked && p.Deaths > 0 {
		return false
	}
	return job != "batch" && p.ListedBy == "" && job != "flow" && job != "flaky" && !p.Dropped
}

// served tells whether all is well: every living process is joined, no dead one is a member, and every steady partition
// runs under its token.
func (w *world) served() bool { return w.unserved() == "" }

func (w *world) unserved() string {
	up := w.processes(func(p *process) bool { return !p.paused })
	for _, p := range up {
		if !p.joined() {
			return fmt.Sprintf("%s is %s", p.name, p.phase())
		}
	}
	if len(up) == 0 {
		return "nobody is joined"
	}
	for m := range w.oracle.ref.Members() {
		if m.State == cluster.MemberHeld {
			return fmt.Sprintf("%s is held", m.ID)
		}
		if m.Draining && m.ID != w.client.drains {
			return fmt.Sprintf("%s is being drained", m.ID)
		}
	}
	if n := w.oracle.ref.InHandover(); n > 0 {
		return fmt.Sprintf("%d partitions are in hand-over", n)
	}
	found := 0
	for p := range w.oracle.ref.Partitions() {
		if steady(p) {
			found++
			if !w.runs(p) {
				return fmt.Sprintf("%s does not run: it is in state %d of %s under token %d: %+v", p.ID, p.State,
					p.Owner, p.Token, w.oracle.ref.Why(p.ID))
			}
		}
	}
	if found == 0 {
		return "no steady partition was accepted"
	}
	return ""
}

// runs tells whether the owner of a partition runs it, or waits after a failure before it does.
func (w *world) runs(p cluster.Partition) bool {
	if p.Attempts > 0 && len(w.processes(func(o *process) bool { return o.name == p.Owner && !o.paused })) > 0 {
		return true
	}
	return slices.ContainsFunc(w.oracle.part(p.ID).runs,
		func(r *run) bool { return r.token == p.Token && !r.p.paused && !r.stopping })
}

// probe lets one member fail while all else is well, and measures for how long something had no owner: G4.
func (w *world) probe(k machine.Kind) {
	up := w.processes(func(p *process) bool { return len(p.runs) > 0 })
	if len(up) < 2 {
		return
	}
	p := pick(w.chance, up)
	began := w.now
	was, _ := w.oracle.ref.Member(p.name)
	bound := w.gapBound(k)
	switch k {
	case machine.Crash:
		p.die()
	case machine.PauseLong:
		p.pause(1 << 62)
	case machine.LeaveInOrder:
		p.post(member.Stop{Reason: "told to"})
	}
	gone := func() bool { // another process of its name may wait to take its place
		m, member := w.oracle.ref.Member(p.name)
		return (!member || m.Incarnation != was.Incarnation) && w.served()
	}
	if !w.within(bound, gone, "G4", func() string { return fmt.Sprintf("%s of %s: %s", k, p.name, w.unserved()) }) {
		return
	}
	if gap := (Timed{time.Duration(w.now - began), bound}); gap.Nearer(w.result.Gap) {
		w.result.Gap = gap
	}
	if p.up {
		p.resume()
	} else {
		w.start(p.name)
	}
	w.within(w.recoveryBound(), func() bool { return w.back(was) && w.served() }, "G9", func() string {
		return fmt.Sprintf("%s came back: in the cluster again: %t. %s", p.name, w.back(was), w.unserved())
	})
}

// within lets things happen until enough, and tells whether it was: it is promised within the bound after what.
func (w *world) within(bound time.Duration, enough func() bool, promise string, what func() string) bool {
	ok := w.until(w.now+int64(bound), enough)
	if !ok {
		w.oracle.violate(promise, "%s after %s", bound, what())
	}
	return ok
}

// back tells whether a member that had gone is in the cluster again, in another life. That its process counts itself as
// joined is not enough: one that was suspended does so until it hears that it was removed, and the next failure would
// be measured together with its return.
func (w *world) back(was cluster.Member) bool {
	m, ok := w.oracle.ref.Member(was.ID)
	return ok && m.State == cluster.MemberJoined && m.Incarnation != was.Incarnation
}

// The bounds. Durations are of clocks that may be wrong by ρ, so true time is longer by 1/(1−ρ).

func (w *world) poll() time.Duration { return min(w.plan.ttl/20, time.Second) }

// stretched is the longest true time that a clock may take for d.
func (w *world) stretched(d time.Duration) time.Duration {
	return d * 1000 / time.Duration(1000-w.plan.rho)
}

// longest is the longest TTL that somebody has, or had when he died.
func (w *world) longest() time.Duration {
	ttl := w.plan.ttl
	if !w.plan.paced {
		return ttl
	}
	for _, p := range w.procs {
		if p.up || w.machine.Group { // a group does not say for how long it still waits for a dead one
			ttl = max(ttl, p.state.StatedTTL())
		}
	}
	for _, d := range w.disk.docs.List("") {
		ttl = max(ttl, heartbeat.StatedTTL(d.Value))
	}
	return ttl
}

func (w *world) times() machine.Times {
	return machine.Times{TTL: w.longest(), Poll: w.poll(), Slowest: time.Duration(w.plan.slow) * time.Millisecond,
		Vanishes: w.plan.mode == KernelLock || w.plan.guardians}
}

// gapBound is G4.
func (w *world) gapBound(k machine.Kind) time.Duration {
	return w.stretched(w.machine.Gap(w.times(), k)) + time.Second
}

// recoveryBound is G9.
func (w *world) recoveryBound() time.Duration {
	return w.stretched(w.machine.Recovery.Of(w.times())) + 5*time.Second
}

// holdBound is for how long something may be held still: until the time is over for the one that releases it, who may
// be another one by then.
func (w *world) holdBound() time.Duration {
	for m := range w.oracle.ref.Members() {
		if m.State == cluster.MemberHeld {
			return w.stretched(2 * holdTime)
		}
	}
	return 0
}

// doom lets the store break its word, or a newer Rota write: members must stop, not differ in silence.
func (w *world) doom() {
	w.lift()
	w.pass(3 * w.plan.ttl)
	if w.broken() {
		return
	}
	if w.plan.ending == machine.NewerEntry {
		w.oracle.doomed = true
		w.disk.append(w.newer())
	} else if !w.loseTail() {
		return
	}
	w.count(w.plan.ending, machine.Cluster)
	for range 10 {
		w.client.propose("configure", cluster.Configure{Retention: w.chance.between(10, 1000)})
		w.pass(w.plan.ttl / 2)
	}
	w.oneHistory()
}

// newer is what a newer Rota writes: an entry of a format that nobody knows yet, in the encoding that the log has.
func (w *world) newer() []byte {
	e := w.machine.Encode(cluster.Entry{Writer: "newer", Seq: 1})
	if e[0] == entryMagic {
		return []byte{entryMagic, 99, 1, 'x'}
	}
	return bytes.Replace(e, fmt.Appendf(nil, `"format":%d`, cluster.Format), []byte(`"format":99`), 1)
}

// oneHistory is G7 after the worst: nobody reads on behind an entry that he cannot understand, and those who go on
// agree. That they differ from the log they cannot know while nobody appends who has read what the log has now.
func (w *world) oneHistory() {
	var right, wrong *process
	for _, p := range w.processes(alive) {
		if w.plan.ending == machine.NewerEntry {
			w.oracle.violate("G7", "%s goes on behind an entry of a newer format", p.name)
		}
		o, v := w.oracle, p.state.Value()
		if now, ok := o.at(v.Index()); ok && now.Chain() == v.Chain() {
			right = p
			continue
		}
		if wrong = p; o.tells > 0 && v.Index() >= o.tells {
			o.violate("G7", "%s goes on with a lost history, though it has read entry %d, which tells", p.name, o.tells)
		}
	}
	if right != nil && wrong != nil {
		w.oracle.violate("G7", "%s goes on with the log's history, %s with a lost one", right.name, wrong.name)
	}
}

// loseTail takes back the newest entries and writes others in their place.
func (w *world) loseTail() bool {
	d, o := w.disk, w.oracle
	n := int(w.chance.between(1, 5))
	if len(d.records) <= n+1 || len(o.refs) <= n+1 || d.records[len(d.records)-n-1].Index < d.snapshot.Index {
		return false
	}
	o.doomed = true
	lost := d.head
	d.records = append(d.records[:0:0], d.records[:len(d.records)-n]...)
	d.head = d.records[len(d.records)-1].Index
	o.refs = o.refs[:len(o.refs)-n]
	o.ref = o.refs[len(o.refs)-1]
	// Where no more is written than was lost, a reader sees a log that ends too early; where more is, only the chain
	// tells.
	behind := 0
	for seq := range uint64(w.chance.between(1, 2*int64(n)+2)) {
		if d.write(w.forged("after-the-loss", seq+1, cluster.Configure{MoveBudget: 99})) > lost {
			behind++
		}
		if behind == 2 && o.tells == 0 {
			o.tells = o.ref.Index()
		}
	}
	return true
}

// takeBack undoes what an operator's fault has left: drained members work again.
func (c *client) takeBack() {
	var back []cluster.Command
	for m := range c.w.oracle.ref.Members() {
		if m.Draining && m.ID != c.drains {
			back = append(back, cluster.DrainMember{Member: m.ID})
		}
	}
	if len(back) > 0 {
		c.propose("undrain", back...)
	}
	c.w.after(int64(time.Second), func() {
		if c.w.healing {
			c.takeBack()
		}
	})
}
