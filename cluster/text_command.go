package cluster

import (
	"fmt"
	"strings"
)

// String returns the command on one line, as rota log list shows it.
func (c PrepareJoin) String() string {
	s := fmt.Sprintf("prepare-join %s", c.Member)
	if c.Replaces != 0 {
		s += fmt.Sprintf(" replaces=%d", c.Replaces)
	}
	for _, l := range c.Labels {
		s += " " + l.Key + "=" + l.Value
	}
	return s
}

// String returns the command on one line.
func (c AcceptJoin) String() string {
	return fmt.Sprintf("accept-join %s@%d by %s@%d", c.Member, c.Incarnation, c.By, c.ByIncarnation)
}

// String returns the command on one line.
func (c AbortJoin) String() string { return fmt.Sprintf("abort-join %s@%d", c.Member, c.Incarnation) }

// String returns the command on one line.
func (c LeaveCluster) String() string {
	s := fmt.Sprintf("leave-cluster %s@%d %q", c.Member, c.Incarnation, c.Reason)
	if c.Hold {
		s += " hold"
	}
	if c.Died {
		s += " died"
	}
	return s
}

// String returns the command on one line.
func (c ReleaseHold) String() string {
	return fmt.Sprintf("release-hold %s@%d", c.Member, c.Incarnation)
}

// String returns the command on one line.
func (c ConfirmMember) String() string {
	return fmt.Sprintf("confirm-member %s@%d", c.Member, c.Incarnation)
}

// String returns the command on one line.
func (c DrainMember) String() string {
	if c.On {
		return "drain-member " + string(c.Member)
	}
	return "undrain-member " + string(c.Member)
}

func jobText(verb string, id JobID, s *JobSpec, by PartitionID, token Token, e Expected) string {
	out := verb + " " + string(id)
	if s != nil {
		types := make([]string, len(s.Tasks))
		for i, t := range s.Tasks {
			types[i] = t.Type
		}
		out += " " + strings.Join(types, ",")
	}
	if by != "" {
		out += fmt.Sprintf(" by %s token=%d", by, token)
	}
	if e != 0 {
		out += fmt.Sprintf(" expected=%d", e-1)
	}
	return out
}

// String returns the command on one line.
func (c SubmitJob) String() string {
	return jobText("submit-job", c.Job, &c.Spec, c.By, c.ByToken, c.Expected)
}

// String returns the command on one line.
func (c UpdateJob) String() string {
	return jobText("update-job", c.Job, &c.Spec, c.By, c.ByToken, c.Expected)
}

// String returns the command on one line.
func (c KillJob) String() string { return jobText("kill-job", c.Job, nil, c.By, c.ByToken, 0) }

// String returns the command on one line.
func (c Started) String() string { return fmt.Sprintf("started %s token=%d", c.Partition, c.Token) }

// String returns the command on one line.
func (c Stopped) String() string { return fmt.Sprintf("stopped %s token=%d", c.Partition, c.Token) }

// String returns the command on one line.
func (c FinishPartition) String() string {
	s := fmt.Sprintf("finish-partition %s token=%d %s", c.Partition, c.Token, c.Outcome)
	if c.Outcome == OutcomeFailed {
		s += fmt.Sprintf(" attempt=%d %q", c.Attempt, c.Message)
	}
	return s
}

// String returns the command on one line.
func (c SplitPartition) String() string {
	keys := make([]string, len(c.Children))
	for i, ch := range c.Children {
		keys[i] = ch.Key
	}
	return fmt.Sprintf("split-partition %s token=%d into %s", c.Partition, c.Token, strings.Join(keys, " "))
}

// String returns the command on one line.
func (c AdvanceWindow) String() string {
	s := fmt.Sprintf("advance-window %s token=%d step=%d cursor=%q", c.Partition, c.Token, c.Step, c.Cursor)
	if len(c.Done) > 0 {
		s += " done " + strings.Join(c.Done, " ")
	}
	if len(c.Items) > 0 {
		s += " items"
	}
	for _, it := range c.Items {
		s += " " + it.Key
	}
	return s
}

// String returns the command on one line.
func (c UnparkPartition) String() string { return "unpark-partition " + string(c.Partition) }

// String returns the command on one line.
func (c PauseJob) String() string { return fmt.Sprintf("pause-job %s by %q", c.Job, c.By) }

// String returns the command on one line.
func (c ResumeJob) String() string { return "resume-job " + string(c.Job) }

// String returns the command on one line: what it changes.
func (c Configure) String() string {
	s := "configure"
	if c.MoveBudget != 0 {
		s += fmt.Sprintf(" move_budget=%d", c.MoveBudget)
	}
	if c.Retention != 0 {
		s += fmt.Sprintf(" retention=%d", c.Retention)
	}
	if c.JobScheduler != "" {
		s += " job_scheduler=" + c.JobScheduler
	}
	return s
}

// String returns the entry on one line: index, writer and number, commands.
func (e Entry) String() string {
	parts := make([]string, len(e.Commands))
	for i, c := range e.Commands {
		parts[i] = fmt.Sprint(c)
	}
	return fmt.Sprintf("%d %s/%d %s", e.Index, e.Writer, e.Seq, strings.Join(parts, "; "))
}

// String returns the value in canonical text: equal values have equal text, whatever led to them.
func (v Value) String() string {
	var b strings.Builder
	if l, ok := v.Leader(); ok {
		fmt.Fprintf(&b, "leader %s term %d\n", l.Member, l.Term)
	}
	if e, ok := v.Epoch(); ok {
		fmt.Fprintf(&b, "epoch %s by %s\n", e, e.Leader)
	}
	for m := range v.Members() {
		fmt.Fprintf(&b, "member %s@%d %s", m.ID, m.Incarnation, m.State)
		if m.Draining {
			b.WriteString(" draining")
		}
		if m.Revoked {
			b.WriteString(" revoked")
		}
		b.WriteByte('\n')
	}
	for j := range v.Jobs() {
		fmt.Fprintf(&b, "job %s %s", j.ID, j.State)
		if len(j.Finished) > 0 {
			fmt.Fprintf(&b, " finished=%s", strings.Join(j.Finished, ","))
		}
		if j.Turn.Passed {
			b.WriteString(" passed")
		}
		if j.Paused() {
			fmt.Fprintf(&b, " paused by %s", j.PausedBy)
		}
		b.WriteByte('\n')
	}
	for p := range v.Partitions() {
		fmt.Fprintln(&b, p)
	}
	return b.String()
}

// String returns the partition on one line.
func (p Partition) String() string {
	s := fmt.Sprintf("partition %s %s", p.ID, p.State)
	if p.Offered {
		s += " offered"
	}
	if p.Owner != "" {
		s += fmt.Sprintf(" %s/%d", p.Owner, p.Token)
	}
	if p.Next != "" {
		s += fmt.Sprintf(" → %s", p.Next)
	}
	if p.NextToken != 0 {
		s += fmt.Sprintf("/%d", p.NextToken)
	}
	if p.Attempts > 0 {
		s += fmt.Sprintf(" failed %d×", p.Attempts)
	}
	if p.Deaths > 0 {
		s += fmt.Sprintf(" %d owners died", p.Deaths)
	}
	if p.Count > 0 {
		s += fmt.Sprintf(" share %d of %d", p.Index, p.Count)
	}
	if p.ListedBy != "" {
		s += fmt.Sprintf(" listed by %s", p.ListedBy)
	}
	if p.Step > 0 {
		s += fmt.Sprintf(" step %d at %q", p.Step, p.Cursor)
	}
	if p.Dropped {
		s += " dropped"
	}
	return s
}
