package cluster

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rota-run/rota/internal/ordered"
)

// Applied is the outcome of one entry.
type Applied struct {
	Results   []Result // one per command
	Foreign   string   // why no member with this history can have written it: it did nothing; "" where one can
	Planned   bool     // placement was computed: then the entry costs time that grows with the number of partitions
	Duplicate bool     // an entry of its writer with this or a higher sequence number was applied before: it did nothing
}

// maxWriters bounds the table that removes duplicates. When it is full the quarter that was silent for longest is
// forgotten; a duplicate that comes later still meets commands that name what they expect.
const maxWriters = 4096

// Apply folds one entry into the value. It is total: an unknown, stale, malformed or impossible command is a no-op
// whose result gives the reason. The receiver stays valid. An entry whose index is not after the last applied one
// changes nothing at all.
func (v Value) Apply(e Entry) (Value, Applied) {
	if e.Index <= v.index {
		return v, refuseAll(e, "its index was applied before", false)
	}
	d := v.draft(&e)
	d.index, d.chain = e.Index, chain(v.chain, e.Index, e.bytes())
	d.applied++
	d.passed()
	if why := v.foreign(&e); why != "" { // its writer does not count either
		out := refuseAll(e, why, false)
		out.Foreign = why
		return d.value(), out
	}
	if why := v.notLed(&e); why != "" {
		return d.value(), refuseAll(e, why, false)
	}
	if w, ok := ordered.Get(&d.writers, e.Writer); ok && e.Seq <= w.seq {
		return d.value(), refuseAll(e, "its writer's number was applied before", true)
	}
	d.noteWriter(e.Writer, e.Seq)
	out := Applied{Results: make([]Result, len(e.Commands))}
	for i, c := range e.Commands {
		reason := d.applyInTurn(i, c)
		out.Results[i] = Result{Accepted: reason == "", Reason: reason}
	}
	out.Planned = d.replan
	d.plan()
	return d.value(), out
}

func refuseAll(e Entry, why string, duplicate bool) Applied {
	out := Applied{Results: make([]Result, len(e.Commands)), Duplicate: duplicate}
	for i := range out.Results {
		out.Results[i].Reason = why
	}
	return out
}

// applyInTurn does command number i. It passes over the commands of a request that was taken before.
func (d *draft) applyInTurn(i int, c Command) string {
	if _, ok := c.(TakeRequest); !ok && d.taken > 0 {
		d.taken--
		return RequestTaken
	}
	if _, ok := c.(Lead); ok && i > 0 {
		return "a term begins with the first command of an entry"
	}
	return d.apply(c)
}

// apply does one command and returns why it did nothing, "" if it did. A refused command changes nothing.
func (d *draft) apply(c Command) string {
	if c == nil {
		return "no command"
	}
	if err := CheckCommand(c); err != nil {
		return err.Error()
	}
	return c.apply(d)
}

func (d *draft) noteWriter(id WriterID, seq uint64) {
	old, _ := ordered.Get(&d.writers, id)
	rec := writerRecord{seq: seq, seen: d.applied}
	codeWriter(d.encode(), &id, &rec)
	rec.hash = d.hash(kindWriter)
	d.digest += rec.hash - old.hash
	ordered.Set(&d.writers, id, rec)
	if ordered.Len(&d.writers) > maxWriters {
		d.forgetWriters()
	}
}

func (d *draft) forgetWriters() {
	oldest := d.applied - maxWriters*3/4
	var drop []WriterID
	ordered.Each(&d.writers, func(id WriterID, w writerRecord) bool {
		if w.seen <= oldest {
			drop = append(drop, id)
			d.digest -= w.hash
		}
		return true
	})
	for _, id := range drop {
		ordered.Remove(&d.writers, id)
	}
}

// A Command is one proposal in the log. The set of commands is closed: each is a type with its methods. What can never
// be accepted is said by a method check. A command names what it expects (incarnation, token, attempt). If that no
// longer holds, it does nothing and its [Result] gives the reason.
type Command interface {
	fmt.Stringer
	tag() byte             // in an entry; it never changes its meaning
	code(*coder) Command   // writes its fields, or returns one of its kind with those that were read: see made
	apply(d *draft) string // does it, or changes nothing and returns why
}

// commands has one of each kind, at its tag.
var commands = byTag(
	PrepareJoin{}, AcceptJoin{}, AbortJoin{}, LeaveCluster{}, ReleaseHold{}, ConfirmMember{}, DrainMember{},
	SubmitJob{}, UpdateJob{}, KillJob{}, PauseJob{}, ResumeJob{}, Configure{}, Rebalance{},
	Started{}, Stopped{}, FinishPartition{}, SplitPartition{}, AdvanceWindow{}, UnparkPartition{},
	Place{}, Lead{}, AcceptOffer{}, RevokeOffer{}, TakeRequest{}, Claim{}, Epoch{}, Share{}, Own{},
)

func byTag(all ...Command) (at [66]Command) {
	for _, c := range all {
		at[c.tag()] = c
	}
	return at
}

// codeCommand codes a command behind its tag. Nobody reads a tag of none.
func codeCommand(x *coder, c *Command) {
	if !x.reading {
		if *c == nil {
			x.data = append(x.data, 0)
			return
		}
		x.data = append(x.data, (*c).tag())
		(*c).code(x)
		return
	}
	tag := int(x.byte())
	if tag >= len(commands) || commands[tag] == nil {
		x.fail("an unknown command")
		return
	}
	*c = commands[tag].code(x)
}

// made is a command that was read. It is none where it was written: that costs nothing.
func made[C Command](x *coder, c C) Command {
	if !x.reading {
		return nil
	}
	return c
}

// CheckCommand reports why a command can never be accepted, whatever the value, or nil. The error begins with the path
// of the fault: "spec.tasks[2].weight: -5 is negative".
func CheckCommand(c Command) error {
	if c, ok := c.(interface{ check() error }); ok {
		return c.check()
	}
	return nil // Started, Stopped, offers: nothing to check but what the value knows
}

func at(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, err)
}

func checkText(s string) error {
	if len(s) > MaxText {
		return fmt.Errorf("%d bytes, at most %d are allowed", len(s), MaxText)
	}
	return nil
}

func notNegative(n int64) error {
	if n < 0 {
		return fmt.Errorf("%d is negative", n)
	}
	if n > 1<<31 {
		return fmt.Errorf("%d is above %d", n, 1<<31)
	}
	return nil
}

func checkHeartbeat(key string) error {
	if key == "" {
		return errors.New("it is empty")
	}
	return checkText(key)
}

func checkLabels(labels []Label) error {
	if len(labels) > MaxLabels {
		return fmt.Errorf("%d labels, at most %d are allowed", len(labels), MaxLabels)
	}
	for i, l := range labels {
		if l.Key == "" || len(l.Key) > maxName || len(l.Value) > MaxText ||
			strings.ContainsAny(l.Key+l.Value, "\x00\x01\x02\x03") {
			return fmt.Errorf("[%d]: the label %.40q=%.40q is empty, too long, or has a control character", i, l.Key,
				l.Value)
		}
		if i > 0 && labels[i-1].Key >= l.Key {
			return fmt.Errorf("[%d]: %q does not follow %q: labels must be sorted, without duplicate keys", i, l.Key,
				labels[i-1].Key)
		}
	}
	return nil
}
