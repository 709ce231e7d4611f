package leader

import (
	"fmt"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// docFormat is the version of the documents that this Rota writes and reads.
const docFormat = 2

// The places of documents.
const (
	LeaderKey     = "leader/holder"
	rosterKey     = "roster/members"
	leaderPrefix  = "leader/"
	rosterPrefix  = "roster/"
	MailboxPrefix = "members/"
	AssignPrefix  = "assign/"
	HeadPrefix    = "peer-state/"
	planPrefix    = "plan/"
)

// mailboxKey is where a member says what it wants and what became of its tasks.
func mailboxKey(m cluster.MemberID) string { return MailboxPrefix + string(m) }

// headKey is where a member reads how the leader sees it, and which tasks it has.
func headKey(m cluster.MemberID) string { return headFolder(m) + "state" }

func headFolder(m cluster.MemberID) string { return HeadPrefix + string(m) + "/" }

func planFolder(w cluster.WriterID) string { return planPrefix + string(w) + "/" }

// planKey is where a request is.
func planKey(w cluster.WriterID, seq uint64) string {
	return fmt.Sprintf("%s%012d", planFolder(w), seq)
}

// folder is where a member's assignments are.
func folder(m cluster.MemberID) string { return AssignPrefix + string(m) + "/" }

// slotKey is where a task of a member is assigned.
func slotKey(m cluster.MemberID, p cluster.PartitionID) string {
	return folder(m) + protocol.Segment(p, "#:")
}

// holderDoc is the document of the leader.
type holderDoc struct {
	Format    int              `json:"format"`
	Member    cluster.MemberID `json:"member"`
	Heartbeat string           `json:"pulse"` // its heartbeat
	Term      uint64           `json:"term"`  // that it asks for; the log decides
	AtMS      int64            `json:"at_ms"` // for people
}

// mailboxDoc is what a member tells the leader.
type mailboxDoc struct {
	Format      int                 `json:"format"`
	Member      cluster.MemberID    `json:"member"`
	Heartbeat   string              `json:"pulse"` // the heartbeat of its present life
	Want        wantKind            `json:"want"`
	Incarnation cluster.Incarnation `json:"incarnation,omitempty"` // that it has; to be confirmed, or to leave
	Reason      string              `json:"reason,omitempty"`      // to leave
	Join        cluster.PrepareJoin `json:"join"`
	Says        []saying            `json:"says,omitempty"`
}

// wantKind is what a member wants of the leader.
type wantKind string

// The wants.
const (
	wantJoin    wantKind = "join"
	wantStay    wantKind = "stay"
	wantConfirm wantKind = "confirm" // under another incarnation
	wantLeave   wantKind = "leave"
)

// saying is what became of one task on a member. It stays in the mailbox until the assignment has changed by it.
type saying struct {
	Task    cluster.PartitionID `json:"task"`
	Token   cluster.Token       `json:"token"`
	Say     sayKind             `json:"say"`
	Attempt int64               `json:"attempt,omitempty"`
	Fresh   bool                `json:"fresh,omitempty"`
	Message string              `json:"message,omitempty"`
}

// sayKind is the kind of a saying.
type sayKind string

// The sayings.
const (
	sayAccept  sayKind = "accept"
	sayDecline sayKind = "decline"
	sayStarted sayKind = "started"
	sayStopped sayKind = "stopped"
	sayDone    sayKind = "done"
	sayFailed  sayKind = "failed"
)

// slotDoc is one task as it is assigned to a member: all that the member needs to run it, under one token. Whether it
// counts its head says.
type slotDoc struct {
	Format    int                 `json:"format"`
	Member    cluster.MemberID    `json:"member"`
	Task      cluster.PartitionID `json:"task"`
	Token     cluster.Token       `json:"token"`
	Index     cluster.Index       `json:"index"` // of the value that says so
	Term      uint64              `json:"term"`  // of the leader that wrote it
	Partition cluster.Partition   `json:"-"`     // as of that index
	Job       cluster.Job         `json:"-"`     // with this task alone
}

// taskDoc is where a task of a member is.
type taskDoc struct {
	Task    cluster.PartitionID `json:"task"`
	Token   cluster.Token       `json:"token"`
	State   slotState           `json:"state"`
	Attempt int64               `json:"attempt,omitempty"`
	Index   cluster.Index       `json:"index"` // that its assignment names, or a newer one
}

// headDoc is how the leader sees one member, and all of its tasks.
type headDoc struct {
	Format      int                 `json:"format"`
	Member      cluster.MemberID    `json:"member"`
	Incarnation cluster.Incarnation `json:"incarnation"`
	Heartbeat   string              `json:"pulse"`
	State       string              `json:"state"`
	Revoked     bool                `json:"revoked,omitempty"`
	Term        uint64              `json:"term"`
	Index       cluster.Index       `json:"index"`           // of the value that says so; it never falls
	Tasks       []taskDoc           `json:"tasks,omitempty"` // sorted as their assignments are
}

// rosterDoc is all members as of an index: a member that was admitted at or before it and is not in it has been
// removed.
type rosterDoc struct {
	Format   int              `json:"format"`
	Term     uint64           `json:"term"`
	Index    cluster.Index    `json:"index"`
	Leader   cluster.MemberID `json:"leader"`
	SinceMS  int64            `json:"leads_since_ms"`
	Settings cluster.Settings `json:"settings"`
	Members  []cluster.Member `json:"members"`
}

// planDoc is one request, and its answer once the leader has taken it.
type planDoc struct {
	Format   int               `json:"format"`
	Writer   cluster.WriterID  `json:"writer"`
	Seq      uint64            `json:"seq"`
	AtMS     int64             `json:"at_ms"`
	Commands []cluster.Command `json:"-"`
	Answer   *planAnswer       `json:"answer,omitempty"`
}

// planAnswer is what became of a request.
type planAnswer struct {
	Index   cluster.Index    `json:"index"` // of the entry, where it is known
	Results []cluster.Result `json:"results,omitempty"`
	Err     string           `json:"error,omitempty"`
	Unknown bool             `json:"unknown,omitempty"` // it was taken, and nobody knows any more what it did
}

// Tied are the documents that vanish with the heartbeat of a member.
func Tied(m cluster.MemberID) []string { return []string{LeaderKey, mailboxKey(m)} }

// slotState is the state of a task on a member, or of the member if it has no task. The states are those of the source
// document.
type slotState string

// The states.
const (
	slotIdle    slotState = "idle"    // no task
	slotAcking  slotState = "acking"  // offered: the member has yet to answer, and does not run it
	slotActive  slotState = "active"  // it runs
	slotTaking  slotState = "taking"  // no-gap: it starts while the former owner still runs it
	slotSealing slotState = "sealing" // the task is finished or taken away: the member has yet to say that it has stopped
)

// assigned reports whether a head may say so of a task.
func (s slotState) assigned() bool {
	return s == slotAcking || s == slotActive || s == slotTaking || s == slotSealing
}

// stateOf is where a partition is on a member.
func stateOf(m cluster.MemberID, p cluster.Partition) (slotState, cluster.Token) {
	switch {
	case p.Next == m && p.State == cluster.PartitionAdopting:
		return slotTaking, p.NextToken
	case p.Owner != m:
		return slotIdle, 0
	case p.State == cluster.PartitionGranted && p.Offered:
		return slotAcking, p.Token
	case p.State == cluster.PartitionGranted, p.State == cluster.PartitionAdopting:
		return slotActive, p.Token
	case p.State == cluster.PartitionReleasing:
		return slotSealing, p.Token
	}
	return slotIdle, 0
}
