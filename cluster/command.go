package cluster

import (
	"errors"
	"fmt"
	"strings"
)

// A Command is one proposal in the log. The set of commands is closed: each is a type with its methods. What can never be
// accepted is said by a method check. A command names what it expects (incarnation, token, attempt). If that no longer
// holds, it does nothing and its [Result] gives the reason.
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

// CheckCommand reports why a command can never be accepted, whatever the value, or nil. The error begins with the path of the fault:
// "spec.tasks[2].weight: -5 is negative".
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
		if l.Key == "" || len(l.Key) > maxName || len(l.Value) > MaxText || strings.ContainsAny(l.Key+l.Value, "\x00\x01\x02\x03") {
			return fmt.Errorf("[%d]: the label %.40q=%.40q is empty, too long, or has a control character", i, l.Key, l.Value)
		}
		if i > 0 && labels[i-1].Key >= l.Key {
			return fmt.Errorf("[%d]: %q does not follow %q: labels must be sorted, without duplicate keys", i, l.Key, labels[i-1].Key)
		}
	}
	return nil
}
