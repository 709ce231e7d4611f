package cluster

// A Command is one proposal in the log. The set of commands is closed.
// A command names what it expects (incarnation, token, attempt). If that no longer holds, it does nothing
// and its [Result] gives the reason.
type Command interface{ command() }

type (
	// PrepareJoin is written by a member that wants to join. Incarnation becomes the index of its entry. A present member
	// with the same ID is removed first (a restart), if it is the one that the joiner found dead. If no member is joined, it joins at once.
	PrepareJoin struct {
		Member    MemberID
		Replaces  Incarnation // the start that it found dead under the same ID; 0 if none. Refused if another is present.
		Slots     int64
		Weight    int64 // share of the load; 0 means 100
		Capacity  int64 // most partitions that it takes; 0 means no limit
		Labels    []Label
		Heartbeat string `json:"pulse"` // key of the heartbeat document of this start; "pulse" in records that exist
		Address   string // address of its API; for people, not for decisions
		Version   string // of its binary; for people, not for decisions
		// Again means that this process was a member before: who reported its death was wrong, and no task of it is to blame.
		Again bool
	}
	// AcceptJoin is written by the present predecessor in the ring, once it watches the joiner's heartbeat and has observed it.
	// By must be that predecessor, joined, with incarnation ByIncarnation.
	AcceptJoin struct {
		Member        MemberID
		Incarnation   Incarnation
		By            MemberID
		ByIncarnation Incarnation
	}
	// AbortJoin removes a prepared attempt. The first of accept and abort in the log wins.
	AbortJoin struct {
		Member      MemberID
		Incarnation Incarnation
	}
	// LeaveCluster removes a member and frees its grants. Hold keeps its grants for an announced restart. Died means that others report its death: it is
	// counted for the partitions that the member ran.
	LeaveCluster struct {
		Member      MemberID
		Incarnation Incarnation
		Reason      string
		Hold        bool
		Died        bool
	}
	// ReleaseHold frees the grants that are held for a member that announced a restart and did not return.
	ReleaseHold struct {
		Member      MemberID
		Incarnation Incarnation
	}
	// ConfirmMember is written by a member whose lease expired, or whose heartbeat was lost, and that was not
	// removed: with a new heartbeat it stays, and keeps its grants. Incarnation is its present one; the index of this entry becomes
	// the new one, so that late reports of the silence name an outdated incarnation.
	ConfirmMember struct {
		Member      MemberID
		Incarnation Incarnation
		Heartbeat   string `json:"pulse"`
	}
	// DrainMember stops or resumes new grants to a member; with On, its grants move away under their hand-over contract.
	DrainMember struct {
		Member MemberID
		On     bool
	}
	// SubmitJob adds a job. The same id with the same spec is a no-op; with another spec it is refused, unless the
	// former job has ended. By, if set, must own its partition under ByToken (a source writes under its own token).
	SubmitJob struct {
		Job      JobID
		Spec     JobSpec
		By       PartitionID
		ByToken  Token
		Expected Expected
	}
	// UpdateJob replaces the spec of a live job. Partitions whose task has changed only in its definition do not move.
	UpdateJob struct {
		Job      JobID
		Spec     JobSpec
		By       PartitionID
		ByToken  Token
		Expected Expected
	}
	// KillJob ends a job: its partitions are removed.
	KillJob struct {
		Job     JobID
		By      PartitionID
		ByToken Token
	}
	// Started is a step of a hand-over: the owner with this token is running. It completes a no-gap move.
	Started struct {
		Partition PartitionID
		Token     Token
	}
	// Stopped is a step of a hand-over: the owner with this token has stopped. It completes an at-most-one move. From the target of a
	// no-gap move it means that the run ended before it could take over.
	Stopped struct {
		Partition PartitionID
		Token     Token
	}
	// FinishPartition ends an attempt. With OutcomeDone the partition is finished for ever. With OutcomeFailed the failure is
	// counted; Attempt must be the partition's present count of failures; Fresh restarts the count at one
	// (the run before the failure was long enough to forgive older ones). After MaxAttempts failures it is parked.
	FinishPartition struct {
		Partition PartitionID
		Token     Token
		Outcome   Outcome
		Attempt   int64
		Fresh     bool
		Message   string
	}
	// SplitPartition adds children. A child runs when all its parents are finished. A child reported by several parents
	// exists once, if they agree about its parents.
	SplitPartition struct {
		Partition PartitionID
		Token     Token
		Children  []Child
	}
	// AdvanceWindow is written by a partitioner: a partition of spread partitioned that lists inputs and keeps a window of them in the
	// value. One step removes finished items, adds listed ones, and stores the cursor: after a crash the next owner
	// continues from there, and nothing is listed twice or skipped. Step must be the partitioner's present one; it then grows by one.
	AdvanceWindow struct {
		Partition PartitionID // the partitioner
		Token     Token
		Step      int64
		Cursor    []byte   // where the next listing begins; opaque
		Done      []string // keys of finished items of this window: their partitions are removed; sorted
		Items     []Item   // a key that is already in the window, and not in Done, is skipped
	}
	// UnparkPartition gives a parked partition another series of attempts.
	UnparkPartition struct{ Partition PartitionID }
	// Configure changes settings of the cluster; zero fields stay as they are.
	Configure struct {
		MoveBudget   int64  // most partitions in hand-over at once
		Retention    int64  // number of ended jobs that stay visible
		JobScheduler string // name of a schedule.JobScheduler
	}
)

// Expected is the state of the job that the writer of a command has seen: the command does nothing if the job has changed since. 0 means no expectation, as in
// entries from before expectations existed; otherwise it is one more than the SpecIndex of the job, which is 0 if there is no job.
type Expected uint64

// Expect returns the expectation of a job with this SpecIndex, 0 for no such job.
func Expect(index Index) Expected { return Expected(index) + 1 }

// Child is a partition that a split creates. Key and Parents are keys within the task of the split partition.
type Child struct {
	Key     string
	Parents []string
}

// Item is one input listed by a partitioner. Key is a key within its task.
type Item struct {
	Key   string
	Input []byte // given to the runner with the definition; opaque
}

// Outcome is how a partition's run ended.
type Outcome uint8

// The outcomes.
const (
	OutcomeDone Outcome = iota
	OutcomeFailed
)

func (PrepareJoin) command()     {}
func (AcceptJoin) command()      {}
func (AbortJoin) command()       {}
func (LeaveCluster) command()    {}
func (ReleaseHold) command()     {}
func (ConfirmMember) command()   {}
func (DrainMember) command()     {}
func (SubmitJob) command()       {}
func (UpdateJob) command()       {}
func (KillJob) command()         {}
func (Started) command()         {}
func (Stopped) command()         {}
func (FinishPartition) command() {}
func (SplitPartition) command()  {}
func (AdvanceWindow) command()   {}
func (UnparkPartition) command() {}
func (Configure) command()       {}
