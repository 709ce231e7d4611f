package cluster

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// anyCommand is one of all that can be said about v: mostly what somebody could really mean, at times stale, at times
// nonsense.
func (c *choices) anyCommand(v Value) Command {
	switch c.n(12) {
	case 0, 1:
		return c.joining(v)
	case 2:
		return c.ofMember(v)
	case 3, 4:
		return SubmitJob{Job: c.job(), Spec: c.spec()}
	case 5:
		return UpdateJob{Job: c.job(), Spec: c.spec()}
	case 6:
		return c.ofOperator()
	case 11:
		return c.filled(pick(c, samples()...))
	}
	return c.ofOwner(v)
}

func (c *choices) job() JobID       { return pick[JobID](c, "x", "y", "z", "rota.s", "rota.t") }
func (c *choices) member() MemberID { return pick[MemberID](c, "a", "b", "c", "d") }

// near is the index mostly, or one beside it.
func (c *choices) near(i Index) Index { return pick(c, i, i, i, i, i, i, i+1, i-1) }

func (c *choices) joining(v Value) Command {
	m, ok := v.Member(c.member())
	if ok && m.State == MemberPrepared {
		by, _ := v.Member(v.before(m.ID))
		return AcceptJoin{m.ID, c.near(m.Incarnation), by.ID, by.Incarnation}
	}
	p := PrepareJoin{Member: c.member(), Slots: int64(c.n(4)), Weight: pick[int64](c, 0, 50, 200),
		Capacity: pick[int64](c, 0, 0, 2), Heartbeat: "p"}
	if old, ok := v.Member(p.Member); ok {
		p.Replaces = c.near(old.Incarnation)
	}
	if c.bool() {
		p.Labels = []Label{{"zone", pick(c, "1", "2")}}
	}
	return p
}

func (c *choices) ofMember(v Value) Command {
	id := c.member()
	m, _ := v.Member(id)
	inc := c.near(m.Incarnation)
	switch c.n(5) {
	case 0:
		return LeaveCluster{Member: id, Incarnation: inc, Reason: "gone", Hold: c.bool(), Died: c.bool()}
	case 1:
		return AbortJoin{id, inc}
	case 2:
		return ReleaseHold{id, inc}
	case 3:
		return ConfirmMember{id, inc, "p2"}
	}
	return DrainMember{id, c.bool()}
}

func (c *choices) ofOperator() Command {
	switch c.n(4) {
	case 0:
		return KillJob{Job: c.job()}
	case 1:
		return UnparkPartition{NewPartitionID(c.job(), "", "")}
	case 2:
		return Rebalance{}
	}
	return Configure{MoveBudget: int64(c.n(5)) - 1, Retention: int64(c.n(3)),
		JobScheduler: pick(c, "", "greedy", "round-robin", "percentage")}
}

func (c *choices) spec() (s JobSpec) {
	for _, name := range []string{"p", "q", "r"}[:1+c.n(3)] {
		t := TaskSpec{Name: name, Type: "noop", Spread: Spread(c.n(4)), Handover: Handover(c.n(3)),
			MaxAttempts: int64(c.n(3)), Weight: pick[int64](c, 0, 300)}
		if c.n(4) == 3 {
			t.SpreadOver = "zone"
		}
		if c.n(6) == 5 {
			t.Pin = c.member()
		}
		t.Stay = c.n(6) == 5 && t.Spread != SpreadPool
		if c.n(6) == 5 {
			t.Selector = []Label{{"zone", "1"}}
		}
		if t.Spread == SpreadPool && c.bool() {
			t.Repartition = true
		}
		if t.Spread == SpreadPartitioned {
			t.Partitions = pick(c, []string{"k"}, []string{"k", "l"}, []string{"l", "m", "n"})
		}
		s.Tasks = append(s.Tasks, t)
	}
	if len(s.Tasks) == 1 && c.bool() {
		s.Tasks[0].Name = ""
	}
	return s
}

func (c *choices) ofOwner(v Value) Command {
	all := slices.Collect(v.Partitions())
	if len(all) == 0 {
		return Started{"none", 1}
	}
	p := all[c.n(len(all))]
	token := c.near(p.Token)
	if d := duties(v); len(d) > 0 && c.bool() {
		return d[c.n(len(d))]
	}
	if p.State == PartitionParked {
		return UnparkPartition{p.ID}
	}
	if c.n(4) == 3 {
		return c.advance(v, p)
	}
	switch c.n(6) {
	case 0:
		return Started{p.ID, c.near(p.NextToken)}
	case 1:
		return FinishPartition{Partition: p.ID, Token: token, Message: "done"}
	case 2:
		return FinishPartition{Partition: p.ID, Token: token, Outcome: OutcomeFailed, Attempt: p.Attempts,
			Fresh: c.bool(), Message: "no"}
	case 3:
		_, _, key := p.ID.Split()
		return SplitPartition{p.ID, token, []Child{{Key: pick(c, "c1", "c2"), Parents: []string{key}},
			{Key: "c3", Parents: []string{key}}}, spentOf(v, p.ID)}
	case 4:
		return Stopped{p.ID, c.near(p.NextToken)}
	}
	return Stopped{p.ID, token}
}

// spentOf is what a split may remove.
func spentOf(v Value, id PartitionID) (keys []string) {
	for p := range v.Spent(id, 0) {
		_, _, key := p.ID.Split()
		keys = append(keys, key)
	}
	return keys
}

// advance is a step of the window of a partition, or one that names something else than what is there.
func (c *choices) advance(v Value, p Partition) Command {
	a := AdvanceWindow{Partition: p.ID, Token: c.near(p.Token), Step: p.Step + pick[int64](c, 0, 0, 0, 1),
		Cursor: []byte(pick(c, "", "i", "j"))}
	for it := range v.Window(p.ID) {
		if _, _, key := it.ID.Split(); it.State == PartitionFinished || c.n(8) == 7 {
			a.Done = append(a.Done, key)
		}
	}
	for _, key := range []string{"i1", "i2", "c1", "k"}[:c.n(5)] {
		a.Items = append(a.Items, Item{Key: key, Input: []byte(pick(c, "", key))})
	}
	return a
}

// duties is what the members would say of the hand-overs that are under way.
func duties(v Value) (out []Command) {
	for m := range v.Members() {
		for _, h := range v.Reactions(m.ID).Held {
			out = append(out, ReleaseHold{h.ID, h.Incarnation})
		}
		for _, d := range v.Duties(m.ID) {
			switch d.Role {
			case RoleStop:
				out = append(out, Stopped{d.Partition.ID, d.Token})
			case RoleAdopt:
				out = append(out, Started{d.Partition.ID, d.Token})
			case RoleRun:
			}
		}
	}
	return out
}

// played makes entries of the choices and applies them: the value, and the entries as they stand in the log.
func played(t interface{ Fatalf(string, ...any) }, story string) (Value, [][]byte) {
	c, v := &choices{[]byte(story)}, Value{}
	var log [][]byte
	for seq := uint64(1); len(c.data) > 0 && len(log) < 200; seq++ {
		e := Entry{Index: v.index + 1, Writer: pick[WriterID](c, "w", "w", "w2"), Seq: seq, AtMS: int64(seq),
			BaseIndex: v.index, BaseChain: v.chain}
		for range 1 + c.n(3) {
			e.Commands = append(e.Commands, c.anyCommand(v))
		}
		if c.n(8) == 7 && len(log) > 0 {
			log = append(log, log[c.n(len(log))]) // a retried append stands twice in the log
			v = mustFold(t, v, log[len(log)-1])
			continue
		}
		log = append(log, e.Encode())
		before := v.String()
		old := v
		v = mustFold(t, v, log[len(log)-1])
		if old.String() != before {
			t.Fatalf("entry %d changed the value it was applied to\nfrom\n%s\nto\n%s", e.Index, before, old)
		}
	}
	return v, log
}

// mustFold applies an entry of the log and looks at what must hold after any entry.
func mustFold(t interface{ Fatalf(string, ...any) }, old Value, data []byte) Value {
	e, err := DecodeEntry(old.index+1, data)
	if err != nil {
		t.Fatalf("what was written is not read: %v", err)
	}
	v, did := old.Apply(e)
	if len(did.Results) != len(e.Commands) {
		t.Fatalf("%d commands have %d results", len(e.Commands), len(did.Results))
	}
	for i, r := range did.Results {
		if r.Accepted == (r.Reason != "") {
			t.Fatalf("%v: %+v", e.Commands[i], r)
		}
	}
	if again, did := v.Apply(Entry{Index: e.Index + 1, Writer: e.Writer, Seq: e.Seq,
		Commands: e.Commands}); !did.Duplicate || again.Digest() != v.Digest() {
		t.Fatalf("an entry that stands twice in the log did something: %+v", did)
	}
	if stale, _ := v.Apply(e); stale.String() != v.String() || stale.index != v.index || stale.chain != v.chain {
		t.Fatalf("an entry that was applied did something")
	}
	mustKeepTokens(t, old, v)
	mustDerive(t, old, v)
	mustBelong(t, v)
	mustShare(t, v)
	mustBeWhole(t, v)
	return v
}

// mustKeepTokens: while a partition is there its token only grows, and each new owner has a greater one.
func mustKeepTokens(t interface{ Fatalf(string, ...any) }, old, v Value) {
	for p := range v.Partitions() {
		was, ok := old.Partition(p.ID)
		switch {
		case max(p.Token, p.NextToken) > v.index:
			t.Fatalf("%s has a token from the future: %+v", p.ID, p)
		case !ok:
		case p.Token < was.Token && p.Owner != "":
			t.Fatalf("the token of %s fell from %d to %d\n%+v\n%+v", p.ID, was.Token, p.Token, was, p)
		case p.Owner != was.Owner && p.Owner != "" && was.Owner != "" && p.Token <= was.Token:
			t.Fatalf("%s went from %s to %s under tokens %d and %d", p.ID, was.Owner, p.Owner, was.Token, p.Token)
		}
	}
}

// mustDerive: duties that are derived from those before are the same as those from scratch.
func mustDerive(t interface{ Fatalf(string, ...any) }, old, v Value) {
	for _, m := range []MemberID{"a", "b", "c", "d"} {
		if got, want := v.DutiesAfter(old, old.Duties(m), m), v.Duties(m); !slices.Equal(got, want) {
			t.Fatalf("the duties of %s after an entry are\n%s\nand from scratch\n%s", m, showDuties(got),
				showDuties(want))
		}
	}
}

// mustShare: the slots of a task that is repartitioned have one share each, of one division, and run beside no former
// one.
func mustShare(t interface{ Fatalf(string, ...any) }, v Value) {
	for j := range v.Jobs() {
		for i := range j.Spec.Tasks {
			task := &j.Spec.Tasks[i]
			if !task.Repartition {
				continue
			}
			d := draft{Value: v}
			held, leaving := d.shares(&parting{job: j.ID, task: task.Name})
			seen := make(map[int64]bool)
			for _, p := range held {
				if seen[p.Index] || p.Index < 0 || p.Index >= p.Count || p.Count != int64(len(held)) ||
					p.Token != held[0].Token || leaving {
					t.Fatalf("%s/%s has these shares, former ones are there: %v\n%s", j.ID, task.Name, leaving, v)
				}
				seen[p.Index] = true
			}
		}
	}
}

// mustBelong: who owns is a member that was let in, and nobody else has the duty to run it.
func mustBelong(t interface{ Fatalf(string, ...any) }, v Value) {
	runs := make(map[PartitionID]string)
	for m := range v.Members() {
		for _, d := range v.Duties(m.ID) {
			if d.Role == RoleAdopt {
				continue // that is the other half of a no-gap move
			}
			if other, ok := runs[d.Partition.ID]; ok {
				t.Fatalf("%s and %s both run %s", other, m.ID, d.Partition.ID)
			}
			runs[d.Partition.ID] = string(m.ID)
		}
	}
	for p := range v.Partitions() {
		for _, id := range []MemberID{p.Owner, p.Next} {
			held := p.State == PartitionHeld // for a member that announced a restart, and may be prepared again
			if m, ok := v.Member(id); id != "" && (!ok || m.State != MemberJoined && !held) {
				t.Fatalf("%s belongs to %q, which is not in: %+v", p.ID, id, p)
			}
		}
	}
}

// mustBeWhole: the digest is that of the records, and what is derived does not depend on how it came about.
func mustBeWhole(t interface{ Fatalf(string, ...any) }, v Value) {
	mustWeigh(t, v)
	data := v.Snapshot()
	got, err := DecodeSnapshot(data) // it compares the digest with the one from scratch
	if err != nil {
		t.Fatalf("snapshot: %v\n%s", err, v)
	}
	if a, b := fmt.Sprint(dump(v)), fmt.Sprint(dump(got)); a != b {
		t.Fatalf("derived from history:\n%s\nfrom the snapshot:\n%s", a, b)
	}
	if !bytes.Equal(got.Snapshot(), data) || got.String() != v.String() {
		t.Fatalf("a snapshot tells another story:\n%s\n%s", v, got)
	}
}

// mustWeigh: the load that placement sees of a member is what it has, by what each weighs. Else moving one changes it
// by another amount, and a plan may never end.
func mustWeigh(t interface{ Fatalf(string, ...any) }, v Value) {
	for kind := range kinds {
		w := newView(&v, kind)
		for m := range w.members {
			sum := int64(0)
			for c := range w.classes {
				sum += int64(w.Count(m, c)) * w.classes[c].Weight
			}
			if w.members[m].Load != sum {
				t.Fatalf("kind %d: %s has the load %d, what it has weighs %d", kind, w.members[m].ID, w.members[m].Load,
					sum)
			}
		}
	}
}

// mustAgree: a replica that reads the log, and one that comes in by a snapshot at any place, hold the same value.
func mustAgree(t interface{ Fatalf(string, ...any) }, v Value, log [][]byte, at int) {
	other := Value{}
	for i, data := range log {
		if i == at {
			var err error
			if other, err = DecodeSnapshot(other.Snapshot()); err != nil {
				t.Fatalf("snapshot: %v", err)
			}
			mustReassemble(t, other, v)
			mustExcerpt(t, other, v)
		}
		e, err := DecodeEntry(Index(i+1), data)
		if err != nil {
			t.Fatalf("%v", err)
		}
		other, _ = other.Apply(e)
	}
	if other.Digest() != v.Digest() || other.Chain() != v.Chain() || other.String() != v.String() ||
		!bytes.Equal(other.Snapshot(), v.Snapshot()) {
		t.Fatalf("two replicas disagree:\n%s\n%s", v, other)
	}
}

// mustReassemble: a value that is made from what differs in its partitions is the one that is made from all of them,
// and the one before stays.
func mustReassemble(t interface{ Fatalf(string, ...any) }, old, v Value) {
	was, is := partsOf(old), partsOf(v)
	known := make(map[PartitionID]Part)
	for _, p := range was.Partitions {
		known[p.ID] = p
	}
	var changed []Part
	for _, p := range is.Partitions {
		if q, ok := known[p.ID]; !ok || q.By != p.By || !bytes.Equal(q.Encode(), p.Encode()) {
			changed = append(changed, p)
		}
		delete(known, p.ID)
	}
	before := Assemble(Parts{Index: is.Index, Settings: is.Settings, Members: is.Members, Jobs: is.Jobs,
		Partitions: was.Partitions})
	text := fmt.Sprint(dump(before))
	got, want := before.Reassemble(changed, slices.Collect(maps.Keys(known))), Assemble(is)
	if a, b := fmt.Sprint(dump(got)), fmt.Sprint(dump(want)); a != b || got.String() != want.String() {
		t.Fatalf("assembled from what has changed:\n%s\nand from all:\n%s", a, b)
	}
	if again := fmt.Sprint(dump(before)); again != text {
		t.Fatalf("the value before has changed from\n%s\nto\n%s", text, again)
	}
}

// mustExcerpt: an excerpt that shares what it can with a former one is the one that is made of nothing, and the former
// one stays.
func mustExcerpt(t interface{ Fatalf(string, ...any) }, old, v Value) {
	excerpt := func(of, from Value) Value {
		jobs, partitions := slices.Collect(from.Jobs()), slices.Collect(from.Partitions())
		lead, _ := from.Leader()
		return of.Excerpt(from.Index(), lead, slices.Collect(from.Members()), jobs[len(jobs)/4:],
			partitions[len(partitions)/4:])
	}
	before := excerpt(Value{}, old)
	text := fmt.Sprint(dump(before))
	got, want := excerpt(before, v), excerpt(Value{}, v)
	if a, b := fmt.Sprint(dump(got)), fmt.Sprint(dump(want)); a != b || got.String() != want.String() ||
		got.leader != v.leader {
		t.Fatalf("an excerpt that shares with another:\n%s\nand of nothing:\n%s", a, b)
	}
	if again := fmt.Sprint(dump(before)); again != text {
		t.Fatalf("the former excerpt has changed from\n%s\nto\n%s", text, again)
	}
}

// An excerpt places the partitions of a job that has changed by what the job says now.
func TestExcerptOfAChangedJob(t *testing.T) {
	t.Parallel()
	s := &script{t: t}
	s.ok(Lead{Member: "a", Term: 1}, prepare("a"), single("x"))
	old := s.v
	s.ok(UpdateJob{Job: "x", Spec: JobSpec{Tasks: []TaskSpec{{Type: "noop", Weight: 300}}}})
	mustExcerpt(t, old, s.v)
}

// mustReact: the same value asks the same, and what it asks for, once said, is accepted and then not asked for again.
func mustReact(t interface{ Fatalf(string, ...any) }, v Value) {
	copied, err := DecodeSnapshot(v.Snapshot())
	if err != nil {
		t.Fatalf("%v", err)
	}
	for m := range v.Members() {
		r := v.Reactions(m.ID)
		if a, b := fmt.Sprintf("%+v %s", r, showDuties(v.Duties(m.ID))),
			fmt.Sprintf("%+v %s", copied.Reactions(m.ID), showDuties(copied.Duties(m.ID))); a != b {
			t.Fatalf("%s: one value asks for\n%s\nand for\n%s", m.ID, a, b)
		}
		if r.Accept {
			after := mustAccept(t, v, AcceptJoin{r.Watch.ID, r.Watch.Incarnation, m.ID, r.Incarnation})
			if got, _ := after.Member(r.Watch.ID); got.State != MemberJoined {
				t.Fatalf("%s was accepted, and is %v", r.Watch.ID, got.State)
			}
		}
		for _, h := range r.Held {
			if _, still := mustAccept(t, v, ReleaseHold{h.ID, h.Incarnation}).Member(h.ID); still {
				t.Fatalf("%s was released, and is still held", h.ID)
			}
		}
		mustDischarge(t, v, m.ID)
	}
}

func showDuties(duties []Duty) string {
	var out strings.Builder
	for _, d := range duties {
		fmt.Fprintf(&out, "%+v %+v\n", *d.Partition, d)
	}
	return out.String()
}

func mustDischarge(t interface{ Fatalf(string, ...any) }, v Value, m MemberID) {
	for _, d := range v.Duties(m) {
		var after Value
		switch d.Role {
		case RoleRun:
			continue
		case RoleStop:
			after = mustAccept(t, v, Stopped{d.Partition.ID, d.Token})
		case RoleAdopt:
			after = mustAccept(t, v, Started{d.Partition.ID, d.Token})
		}
		for _, again := range after.Duties(m) {
			if again.Partition.ID == d.Partition.ID && again.Role == d.Role && again.Token == d.Token {
				t.Fatalf("%s did %+v, and is asked for it again", m, d)
			}
		}
	}
}

func mustAccept(t interface{ Fatalf(string, ...any) }, v Value, c Command) Value {
	after, did := v.Apply(Entry{Index: v.index + 1, Writer: "reaction", Seq: v.Wrote("reaction") + 1,
		Commands: []Command{c}})
	if !did.Results[0].Accepted {
		t.Fatalf("the value asks for %+v and then refuses it: %s\n%s", c, did.Results[0].Reason, v)
	}
	return after
}

// Whatever is said: nothing breaks, the old value stays, replicas agree by replay and by snapshot, a retried entry does
// nothing, tokens grow, one member at most owns a partition, and what the value asks for it also accepts.
func TestApplyUnderAnyCommands(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		story := rapid.SliceOfN(rapid.Byte(), 100, 400).Draw(rt, "story")
		v, log := played(rt, string(story))
		mustAgree(rt, v, log, rapid.IntRange(0, len(log)).Draw(rt, "snapshot at"))
		mustReact(rt, v)
	})
}
