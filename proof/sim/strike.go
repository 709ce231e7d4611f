package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/store/memory"
)

// strike lets a fault of the script happen, or wait for its phase.
func (w *world) strike(f Fault) {
	if w.healing {
		return
	}
	r := stream(f.Draw, "fault")
	info := w.machine.Info(f.Kind)
	if info.Phases[0] == machine.Cluster {
		w.strikeAll(f, r)
		return
	}
	found := w.processes(func(p *process) bool {
		if f.Phase == anyPhase {
			return info.Suits != nil || slices.Contains(info.Phases, p.phase())
		}
		return p.phase() == f.Phase
	})
	if len(found) == 0 {
		w.waiting = append(w.waiting, f)
		return
	}
	w.hit(pick(r, found), f, r)
}

// entered lets the faults happen that waited for a member in this phase.
func (w *world) entered(p *process, phase string) {
	for i, f := range w.waiting {
		if f.Phase == phase && !w.healing {
			w.waiting = slices.Delete(w.waiting, i, i+1)
			w.hit(p, f, stream(f.Draw, "fault"))
			return
		}
	}
}

// notice counts that two members at once take themselves for the leader.
func (w *world) notice() {
	leads := func(p *process) bool { return w.machine.Leads != "" && p.phase() == w.machine.Leads }
	if i := slices.IndexFunc(w.procs, leads); i >= 0 && slices.ContainsFunc(w.procs[i+1:], leads) {
		w.count(machine.TwoLeaders, machine.Cluster)
	}
}

// hit lets a fault happen to one member.
func (w *world) hit(p *process, f Fault, r chance) {
	phase := p.phase()
	w.note("fault: %s of %s, which is %s", f.Kind, p.label(), phase)
	ttl := int64(w.plan.ttl)
	switch f.Kind {
	case machine.Cut, machine.CutOut, machine.CutIn:
		w.cut(p, f.Kind, r.between(ttl/20, 3*ttl))
	case machine.PauseShort:
		p.pause(r.between(int64(time.Millisecond), ttl*9/10))
	case machine.PauseLong:
		p.pause(r.between(ttl, 5*ttl))
	case machine.Crash:
		p.die()
	case machine.ClockRate:
		p.clock.setRate(w.now, r.between(-w.plan.rho, w.plan.rho))
	case machine.WallJump:
		p.wall += time.Duration(r.between(-int64(48*time.Hour), int64(48*time.Hour)))
	case machine.LeaveInOrder:
		p.post(member.Stop{Reason: "told to"})
	case machine.SecondStart:
		w.start(p.name)
	case machine.SlowWork:
		p.slowWork = w.now + r.between(ttl/4, 3*ttl)
	case machine.RunnerFails:
		if len(p.runs) == 0 {
			return
		}
		if x := pick(r, p.runs); !x.over && !x.stopping { // as a panic does
			p.exit(x, supervisor.Failed)
		}
	case machine.GuardianLate, machine.GuardianDoubled, machine.GuardianLost, machine.GuardianCutOff:
		if p.guard == nil || p.guard.line == nil {
			return
		}
		p.hitGuardian(f.Kind, r)
	default:
		p.arm(f, r)
		return
	}
	w.count(f.Kind, phase)
}

// arm lets a fault wait for what it hits: it counts when that comes.
func (p *process) arm(f Fault, r chance) {
	switch f.Kind {
	case machine.CrashBetween:
		p.dieAt = r.IntN(4)
	case machine.RunnerLingers:
		if len(p.runs) > 0 {
			x := pick(r, p.runs)
			x.lingers, x.armed = true, f.Phase
		}
	default:
		if len(p.armed) < 16 { // so that they do not come in a flood
			p.armed = append(p.armed, machine.Pair{Kind: f.Kind, Phase: f.Phase})
		}
	}
}

// takes uses up the first armed fault that suits, and tells its kind, "" for none.
func (p *process) takes(suits func(machine.Kind) bool) machine.Kind {
	phase := p.phase()
	i := slices.IndexFunc(p.armed,
		func(a machine.Pair) bool { return (a.Phase == anyPhase || a.Phase == phase) && suits(a.Kind) })
	if i < 0 {
		return ""
	}
	k := p.armed[i].Kind
	p.armed = slices.Delete(p.armed, i, i+1)
	p.w.count(k, phase)
	return k
}

// cut cuts a process off for a while, unless the faults are over.
func (w *world) cut(p *process, k machine.Kind, d int64) {
	if w.healing {
		return
	}
	p.cutOut = p.cutOut || k != machine.CutIn
	p.cutIn = p.cutIn || k != machine.CutOut
	w.after(d, func() { p.cutOut, p.cutIn = false, false })
}

// strikeAll lets a fault happen to the store, or to the cluster as a whole.
func (w *world) strikeAll(f Fault, r chance) {
	ttl := int64(w.plan.ttl)
	switch f.Kind {
	case machine.StoreAway:
		w.disk.away = true
		w.after(r.between(ttl/10, 3*ttl), func() { w.disk.away = false })
	case machine.DiskFull:
		w.disk.full = true
		w.after(r.between(ttl/10, 2*ttl), func() { w.disk.full = false })
	case machine.Truncation:
		if w.client.trims = r.oneIn(2) && w.client.propose("configure",
			cluster.Configure{Retention: r.between(10, 1000)}); !w.client.trims {
			w.truncate()
		}
	case machine.Garbage:
		b := make([]byte, r.between(0, 60))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		_, begun := w.oracle.ref.FirstJoined()
		switch {
		case r.oneIn(3) && begun: // as of an older format, which is garbage behind entries of ours
			b = append([]byte{entryMagic, byte(r.between(1, int64(cluster.Format)-1))}, b...)
		case len(b) > 0 && b[0] == entryMagic:
			b[0] = 0
		}
		w.disk.append(b)
	case machine.Foreign:
		w.foreign(r)
	case machine.GroupFails:
		w.disk.room.step(memory.GroupCall{Fail: true})
	case machine.Storm:
		w.disk.room.storm(r)
	case machine.AllAtOnce:
		for _, p := range w.processes(alive) {
			p.die()
		}
	default:
		if !w.operate(f.Kind, r) {
			return
		}
	}
	w.note("fault: %s", f.Kind)
	w.count(f.Kind, machine.Cluster)
}

// entryMagic begins each entry.
const entryMagic = 0xE7

// truncate saves a snapshot and trims the log to it: readers that are behind must jump.
func (w *world) truncate() {
	v := w.oracle.ref
	if v.Index() == 0 || uint64(v.Index()) <= w.disk.snapshot.Index {
		return
	}
	w.disk.snapshot.Index, w.disk.snapshot.Data = uint64(v.Index()), v.Snapshot()
	w.disk.trim(uint64(v.Index()))
	w.saved = v.Applied()
}

// foreign appends an entry whose writer nobody knows, with commands about what was or never was.
func (w *world) foreign(r chance) {
	ref := w.oracle.ref
	var commands []cluster.Command
	for p := range ref.Partitions() {
		if r.oneIn(3) && p.Token > 1 {
			stale := p.Token - 1
			commands = append(commands, cluster.Stopped{Partition: p.ID, Token: stale},
				cluster.Started{Partition: p.ID, Token: stale},
				cluster.FinishPartition{Partition: p.ID, Token: stale, Outcome: cluster.OutcomeDone})
		}
	}
	for m := range ref.Members() {
		if r.oneIn(2) {
			i := m.Incarnation
			commands = append(commands, cluster.LeaveCluster{Member: m.ID, Incarnation: i + 1, Reason: "stale"},
				cluster.AcceptJoin{Member: m.ID, Incarnation: i - 1, By: m.ID, ByIncarnation: i},
				cluster.AbortJoin{Member: m.ID, Incarnation: i - 1})
		}
	}
	commands = append(commands, cluster.KillJob{Job: "nobody-knows-it"})
	w.disk.write(w.forged("foreign", uint64(r.between(1, 5)), commands...))
	w.impostor(r)
	if w.machine.Has(machine.TailLost) { // leader is not yet proved under other histories
		w.poison()
	}
}

// poison appends an entry that no member can have written: its writer has applied another history. It must do nothing,
// and end nobody.
func (w *world) poison() {
	ref := w.oracle.ref
	for j := range ref.Jobs() {
		e := w.forged(poisoner, uint64(ref.Index())+1, cluster.KillJob{Job: j.ID})
		e.BaseChain++
		w.disk.write(e)
		return
	}
}

// forged is an entry that no member has written, by somebody who has read the whole log.
func (w *world) forged(by cluster.WriterID, seq uint64, commands ...cluster.Command) cluster.Entry {
	ref := &w.oracle.ref
	return cluster.Entry{Writer: by, Seq: seq, BaseIndex: ref.Index(), BaseChain: ref.Chain(), Commands: commands}
}

// poisoner writes what must be refused.
const poisoner = "poisoner"

// impostor appends one command alone that somebody writes who has no right to.
func (w *world) impostor(r chance) {
	ref := w.oracle.ref
	parts := slices.Collect(ref.Partitions())
	if len(parts) == 0 {
		return
	}
	p := pick(r, parts)
	job, _, key := p.ID.Split()
	j, _ := ref.Job(job)
	stale := max(p.Token, 2) - 1
	var c cluster.Command
	switch r.IntN(5) {
	case 0:
		for _, q := range parts { // of a failure that is counted already
			if q.Attempts > 0 && q.Owner != "" {
				p = q
			}
		}
		c = cluster.FinishPartition{Partition: p.ID, Token: p.Token, Outcome: cluster.OutcomeFailed,
			Attempt: max(p.Attempts, 1) - 1, Message: "said again"}
	case 1:
		c = cluster.SplitPartition{Partition: p.ID, Token: stale,
			Children: []cluster.Child{{Key: key + "z", Parents: []string{key}}}}
	case 2:
		c = cluster.KillJob{Job: "nobody-knows-it", By: p.ID, ByToken: stale}
		if j.Spec != nil {
			c = cluster.SubmitJob{Job: j.ID, Spec: *j.Spec, By: p.ID, ByToken: stale}
		}
	case 3:
		if j.Spec == nil {
			return
		}
		spec := *j.Spec
		spec.Source = "another"
		c = cluster.UpdateJob{Job: j.ID, Spec: spec}
	}
	if c == nil { // who has lost the partitioner, or has missed a step of it
		for _, q := range parts {
			if q.Step > 0 {
				p = q
			}
		}
		a := cluster.AdvanceWindow{Partition: p.ID, Token: max(p.Token, 1) - 1, Step: p.Step, Cursor: []byte("x")}
		if p.Step > 0 && r.oneIn(2) {
			a.Token, a.Step = p.Token, p.Step-1
		}
		c = a
	}
	w.disk.write(w.forged("impostor", uint64(ref.Index())+1, c))
}

// announce lets a member end for a restart: in its place an operator's tool writes that its grants are to be held.
func (w *world) announce() bool {
	p := w.anyProcess(func(p *process) bool { return p.joined() && p.isMember() })
	if p == nil {
		return false
	}
	inc, _ := p.state.Tenure()
	p.die()
	p.guard.endPrograms() // all that it ran has ended when it is said
	return w.client.propose("hold", cluster.LeaveCluster{Member: p.name, Incarnation: inc, Reason: "restarts",
		Hold: true})
}

// isMember tells whether the cluster has this process as the member of its name: one that does not know yet that it was
// removed may have a successor, which lives.
func (p *process) isMember() bool {
	inc, _ := p.state.Tenure()
	m, ok := p.w.oracle.ref.Member(p.name)
	return ok && m.Incarnation == inc
}

// operate is what an operator does; false when there was nobody to ask.
func (w *world) operate(k machine.Kind, r chance) bool {
	c := w.client
	job := pick(r, c.wanted)
	switch k {
	case machine.Hold:
		return w.announce()
	case machine.Drain:
		p := w.anyProcess(alive)
		if p == nil || !c.propose("drain", cluster.DrainMember{Member: p.name, On: true}) {
			return false
		}
		w.after(r.between(int64(time.Second), int64(time.Minute)),
			func() { c.propose("undrain", cluster.DrainMember{Member: p.name}) })
		return true
	case machine.KillJob:
		return c.propose("kill", cluster.KillJob{Job: job.Job})
	case machine.UpdateJob:
		spec := job.Spec
		spec.Tasks = slices.Clone(spec.Tasks)
		t := &spec.Tasks[0]
		t.Definition = fmt.Appendf(nil, `{"retry":{"min_ms":%d,"max_ms":2000}}`, r.between(100, 900))
		if len(t.Partitions) > 1 && r.oneIn(2) {
			t.Partitions = t.Partitions[:len(t.Partitions)-1]
		}
		if t.Spread == cluster.SpreadPool {
			t.Max = r.between(0, 3)
		} else {
			t.Weight = r.between(0, 300)
		}
		return c.propose("update", cluster.UpdateJob{Job: job.Job, Spec: spec})
	case machine.Split:
		members := slices.Collect(w.oracle.ref.Members())
		if len(members) == 0 {
			return false
		}
		for p := range w.oracle.ref.OwnedBy(pick(r, members).ID) {
			if j, _, key := p.ID.Split(); j == "batch" && len(key) < 8 {
				split := cluster.SplitPartition{Partition: p.ID, Token: p.Token,
					Children: []cluster.Child{{Key: key + "a", Parents: []string{key}},
						{Key: key + "b", Parents: []string{key}}}}
				for q := range w.oracle.ref.Spent(p.ID, 0) {
					_, _, done := q.ID.Split()
					split.Done = append(split.Done, done)
				}
				return c.propose("split", split)
			}
		}
	}
	return false
}
