package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/source/directory"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/source"
)

// Status is a cluster at a glance.
type Status struct {
	Store     string       `json:"store"`
	Protocol  string       `json:"protocol"`
	Index     uint64       `json:"index"`
	Digest    string       `json:"digest"`
	Leader    *Leader      `json:"leader,omitempty"` // absent where nobody leads by the protocol
	Members   MemberCounts `json:"members"`
	Tasks     TaskCounts   `json:"tasks"`
	Moves     *Moves       `json:"moves,omitempty"`  // absent where there is no journal
	Nobody    string       `json:"nobody,omitempty"` // that nothing runs because no member lives; "" where one does
	Problems  []Problem    `json:"problems"`         // at most MaxProblems
	More      int          `json:"more_problems"`    // those that did not fit
	Malformed int          `json:"malformed"`        // definitions
	Differing int          `json:"differing"`        // sources of which members have different files
	// DeadLetters are those of all flows.
	DeadLetters int `json:"dead_letters"`
	Local       any `json:"local,omitempty"` // what only the answering process knows
}

// Leader is who decides, where one member does.
type Leader struct {
	Member   string   `json:"member"`
	Term     uint64   `json:"term"`
	SinceMS  int64    `json:"since_ms"`
	StandBys []string `json:"stand_bys"` // who follows, the first one first
}

func leaderOf(v cluster.Value) *Leader {
	l, ok := v.Leader()
	if _, in := v.Member(l.Member); !ok || !in { // it has left, and nobody has followed yet
		return nil
	}
	out := &Leader{Member: string(l.Member), Term: l.Term, SinceMS: l.SinceMS, StandBys: []string{}}
	for _, m := range v.StandBys() {
		out.StandBys = append(out.StandBys, string(m))
	}
	return out
}

// MemberCounts are the members by state.
type MemberCounts struct {
	Total    int `json:"total"`
	Joined   int `json:"joined"` // draining ones too
	Draining int `json:"draining"`
	Prepared int `json:"prepared"`
	Held     int `json:"held"`
	Silent   int `json:"silent"` // of all: those that are probably dead
	// Guarded are those of which another process ends the session when they are killed, Unguarded those that have none
	// and need one.
	Guarded   int `json:"guarded"`
	Unguarded int `json:"unguarded"`
	// Slower are those that have a longer TTL than usual, because their renewals are slow.
	Slower int `json:"slower,omitempty"`
}

// TaskCounts are the partitions by state, without those of Rota itself.
type TaskCounts struct {
	Total      int `json:"total"`
	Running    int `json:"running"`
	Failing    int `json:"failing"`     // periodic ones whose last round failed
	BackingOff int `json:"backing_off"` // they wait before they start again
	Silent     int `json:"silent"`      // their owner is probably dead
	Moving     int `json:"moving"`
	Waiting    int `json:"waiting"`
	Paused     int `json:"paused"`
	Parked     int `json:"parked"`
	Blocked    int `json:"blocked"`
	Held       int `json:"held"`
	Finished   int `json:"finished"`
}

// Moves sums up the moves of the last hour.
type Moves struct {
	LastHour     int   `json:"last_hour"`
	LongestGapMS int64 `json:"longest_gap_ms"` // among those whose gap is known
}

// Problem is something that may need manual intervention.
type Problem struct {
	// State is parked, paused, waiting, failed, malformed, failing, backing off, sources differ or dead letters; of a
	// member silent, gone or held.
	State   string `json:"state"`
	Task    string `json:"task"` // or job; "" of a member
	Member  string `json:"member,omitempty"`
	Text    string `json:"text"`
	Try     string `json:"try"` // what to do
	SinceMS int64  `json:"since_ms"`
}

// MaxProblems bounds Status.Problems.
const MaxProblems = 100

// Status sums up what was seen. A [Viewer] adds what is not in it: malformed definitions, moves, sources that differ.
func (s Sight) Status() Status {
	st := Status{
		Index: uint64(s.v.Index()), Digest: fmt.Sprintf("%016x", uint64(s.v.Digest())), Problems: []Problem{},
		Leader: leaderOf(s.v),
	}
	st.members(s)
	for p := range s.v.Partitions() {
		state := s.state(p)
		if !p.ID.Reserved() {
			st.Tasks.add(state)
		}
		if state == cluster.PartitionParked.String() ||
			state == cluster.PartitionWaiting.String() && !missedByNobody(s.v, p.ID) {
			st.problem(s.v, p)
		}
	}
	st.jobs(s.v)
	st.fails(s)
	st.Nobody = st.nobody()
	return st
}

// missedByNobody reports whether a partition is that of a source from which no job runs.
func missedByNobody(v cluster.Value, id cluster.PartitionID) bool {
	name, ok := strings.CutPrefix(string(id), directory.LabelKey(""))
	if !ok {
		return false
	}
	for j := range v.Jobs() {
		if j.State == cluster.JobRunning && j.Spec.Source == name {
			return false
		}
	}
	return true
}

// Counts are the members and the tasks by state.
func (s Sight) Counts() (m MemberCounts, t TaskCounts) {
	for one := range s.v.Members() {
		m.add(one)
	}
	for p := range s.v.Partitions() {
		if !p.ID.Reserved() {
			t.add(s.state(p))
		}
	}
	return m, t
}

// members counts the members, and adds those that may be dead to the problems.
func (s *Status) members(sight Sight) {
	for m := range sight.v.Members() {
		s.Members.add(m)
		if m.State == cluster.MemberHeld {
			s.tell(Problem{State: Held, Member: string(m.ID), SinceMS: m.SinceMS, Text: "it has announced a restart" +
				heldText(sight.held(m.ID)),
				Try: "start it again; or rota member evict " + string(m.ID) + ", and others take over at once"})
		}
		h, ok := sight.beats[m.ID]
		switch {
		case !ok:
			continue
		case h.Guardian == "on":
			s.Members.Guarded++
		case h.Unguarded():
			s.Members.Unguarded++
		}
		if h.Slower() {
			s.Members.Slower++
		}
		if h.Lost() {
			s.Members.Silent++
			s.tell(Problem{State: h.problem(), Member: string(m.ID), SinceMS: m.SinceMS, Text: h.Text(sight.now) +
				tasksText(sight.orphans(m.ID)),
				Try: "start it again; or wait, others take over after its TTL"})
		}
	}
}

// orphans is how many tasks nobody runs because their owner is probably dead.
func (s Sight) orphans(m cluster.MemberID) (n int) {
	for p := range s.v.OwnedBy(m) {
		if p.Owner == m && !p.ID.Reserved() && s.state(p) == OwnerSilent {
			n++
		}
	}
	return n
}

// Held is the state of a member that has announced a restart, and of the tasks that wait for it.
const Held = "held"

// held is how many tasks wait for a member that has announced a restart.
func (s Sight) held(m cluster.MemberID) (n int) {
	for p := range s.v.OwnedBy(m) {
		if p.State == cluster.PartitionHeld && !p.ID.Reserved() {
			n++
		}
	}
	return n
}

func heldText(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "; 1 task waits for it"
	}
	return fmt.Sprintf("; %d tasks wait for it", n)
}

// nobody says that nothing runs because nobody is there to run it.
func (s *Status) nobody() string {
	switch {
	case s.Members.Total == 0 && s.Index == 0:
		return "there is no cluster here yet"
	case s.Members.Total == 0:
		return "no member is running: nothing runs"
	case s.Members.Silent == s.Members.Total && s.Tasks.Total > 0:
		return "no member is alive: nothing runs"
	}
	return ""
}

func tasksText(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "; nobody runs its task"
	}
	return fmt.Sprintf("; nobody runs its %d tasks", n)
}

// fails adds what fails to the problems.
func (s *Status) fails(sight Sight) {
	for _, id := range slices.Sorted(maps.Keys(sight.runs)) {
		p, _ := sight.v.Partition(id)
		t := sight.Task(p)
		s.tell(Problem{State: t.State, Task: t.Task, Text: t.FailureText(), Try: "mend what fails",
			SinceMS: t.FailingMS})
	}
	s.Tasks.Running -= sight.Unlisted()
	s.Tasks.Failing += sight.moreFailing
	s.Tasks.BackingOff += sight.moreBackingOff
	s.More += sight.Unlisted()
}

// jobs adds the jobs that wait for slots, and those that failed.
func (s *Status) jobs(v cluster.Value) {
	for _, w := range v.WaitingForSlots() {
		if j, ok := v.Job(cluster.JobID(w.Item)); ok && w.Reason.Rule != "hand-over" {
			s.tell(Problem{State: "waiting", Task: w.Item, Text: w.Reason.Rule + ": " + w.Reason.Text,
				Try: w.Reason.Try, SinceMS: j.SinceMS})
		}
	}
	for j := range v.Jobs() {
		if j.Paused() {
			s.tell(Problem{State: Paused, Task: string(j.ID), Text: "paused by " + j.PausedBy, Try: "rota job resume " +
				string(j.ID), SinceMS: j.PausedMS})
		}
		if j.State == cluster.JobFailed {
			s.tell(Problem{State: j.State.String(), Task: string(j.ID), Text: j.Message,
				Try: "mend what fails, then submit it again", SinceMS: j.SinceMS})
		}
	}
}

// tell lists a problem. Where nothing is known that helps, its explanation is what to look at.
func (s *Status) tell(p Problem) {
	if len(s.Problems) >= MaxProblems {
		s.More++
		return
	}
	p.Try = cmp.Or(p.Try, "rota why "+p.Task)
	s.Problems = append(s.Problems, p)
}

func (c *MemberCounts) add(m cluster.Member) {
	c.Total++
	switch m.State {
	case cluster.MemberJoined:
		c.Joined++
		if m.Draining {
			c.Draining++
		}
	case cluster.MemberPrepared:
		c.Prepared++
	case cluster.MemberHeld:
		c.Held++
	}
}

func (c *TaskCounts) add(state string) {
	c.Total++
	switch state {
	case Running:
		c.Running++
	case Failing:
		c.Failing++
	case BackingOff:
		c.BackingOff++
	case OwnerSilent:
		c.Silent++
	case Moving, Offered:
		c.Moving++
	case Paused:
		c.Paused++
	case cluster.PartitionWaiting.String():
		c.Waiting++
	case cluster.PartitionParked.String():
		c.Parked++
	case cluster.PartitionBlocked.String():
		c.Blocked++
	case cluster.PartitionHeld.String():
		c.Held++
	case cluster.PartitionFinished.String():
		c.Finished++
	}
}

func (s *Status) problem(v cluster.Value, p cluster.Partition) {
	if len(s.Problems) >= MaxProblems {
		s.More++ // explaining costs a look at the whole view: not for those that are not shown
		return
	}
	out := Problem{State: p.State.String(), Task: string(p.ID), SinceMS: p.ChangedMS}
	if r := reasonOf(v, p.ID); r != nil {
		out.Text, out.Try = r.Text, r.Try
		if !strings.Contains(r.Text, r.Rule) && p.State == cluster.PartitionWaiting {
			out.Text = r.Rule + ": " + r.Text
		}
	}
	s.tell(out)
}

// addMalformed adds what the journal says of definitions that are malformed and not mended since. Records are oldest
// first.
func (s *Status) addMalformed(v cluster.Value, records []journal.Record) {
	last := map[string]journal.Record{}
	var order []string
	for _, r := range records {
		if r.Kind != journal.Malformed && r.Kind != journal.Recovered {
			continue
		}
		if _, ok := last[r.Partition]; !ok {
			order = append(order, r.Partition)
		}
		last[r.Partition] = r
	}
	for _, id := range order {
		r := last[id]
		if r.Kind != journal.Malformed {
			continue
		}
		s.Malformed++
		s.tell(Problem{State: Malformed, Task: id, Text: r.Line(), SinceMS: r.AtMS, Try: mendFile(v, r)})
	}
}

// Malformed is the state of a definition that cannot be used.
const Malformed = "malformed"

// ofDirectory reports whether a record is of the directory of a source, and not of a file.
func ofDirectory(r journal.Record) bool {
	return r.Storage != nil && r.Storage.Type == "directory" && !source.Extension(r.Storage.Path)
}

// mendFile says what to do about a malformed definition, and what runs meanwhile.
func mendFile(v cluster.Value, r journal.Record) string {
	if ofDirectory(r) {
		return "mend the directory; no task has ended for it"
	}
	if _, ok := v.Job(cluster.JobID(r.Partition)); ok {
		return "mend the file; the last good version keeps running"
	}
	return "mend the file; no version of it has ever run"
}

// Wrong says in a few words each what a person must look at; nothing where all is well. What fails by itself for a
// moment is counted too: who asks again and again decides how long is too long. Jobs that have failed are over, and
// what is paused or held is so because somebody wants it: they are not counted.
func (s *Status) Wrong() []string {
	out := []string{}
	say := func(n int, text string) {
		if n > 0 {
			out = append(out, fmt.Sprintf(text, n))
		}
	}
	if s.Members.Total == 0 {
		out = append(out, "no member")
	}
	say(s.Members.Silent, "members that are probably dead: %d")
	say(s.Tasks.Silent+s.Tasks.Waiting, "tasks without a live owner: %d")
	say(s.Tasks.Parked, "parked: %d")
	say(s.Tasks.Failing, "failing: %d")
	say(s.Tasks.BackingOff, "backing off: %d")
	say(s.Malformed, "malformed: %d")
	say(s.DeadLetters, "dead letters: %d")
	say(s.Differing, "sources that differ: %d")
	return out
}

// movesOf sums up the moves among journal records.
func movesOf(records []journal.Record) *Moves {
	var m Moves
	for _, r := range records {
		if r.Kind == journal.Moved {
			m.LastHour += max(1, int(r.Count))
		}
		if r.GapMS != nil {
			m.LongestGapMS = max(m.LongestGapMS, *r.GapMS)
		}
	}
	return &m
}
