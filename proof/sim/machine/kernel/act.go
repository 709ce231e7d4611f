package kernel

import (
	"fmt"

	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/proof/sim/machine"
)

// Act returns what a shared effect means to the world; others are for listeners alone.
func Act(e machine.Effect) machine.Act {
	switch e := e.(type) {
	case member.ReadLog, member.ReadSnapshot, member.CheckLog:
		return machine.Call{}
	case member.Append:
		return machine.Call{Write: true}
	case member.Renew:
		return machine.Call{Renew: true, Begin: e.Create}
	case member.SaveSnapshot:
		return machine.Call{Keep: true}
	case member.WakeAt:
		return machine.Wake{At: e.At}
	case member.Assign:
		return machine.Assign{Assignment: e.Assignment}
	case member.Applying:
		return machine.Applied{Value: e.Value}
	case member.Reply:
		return machine.Reply{ID: e.ID, Results: e.Results}
	case member.Left:
		return machine.Left{}
	case member.Halt:
		return machine.Halt{Err: e.Err}
	}
	return machine.Told{}
}

// Describe returns one line about a shared effect or event; "" for others.
func Describe(x any) string {
	switch e := x.(type) {
	case member.Read:
		return fmt.Sprintf("read %d entries, head %d%s", len(e.Page.Records), e.Page.Head, Problem(e.Err))
	case member.Appended:
		return fmt.Sprintf("appended #%d at %d (outcome %d)%s", e.Seq, e.Index, e.Outcome, Problem(e.Err))
	case member.Renewed:
		return fmt.Sprintf("renewed %s (outcome %d)%s", e.Key, e.Outcome, Problem(e.Err))
	case member.Reported:
		return fmt.Sprintf("supervisor at version %d runs %d", e.Version, len(e.Reports))
	case member.ReadLog:
		return fmt.Sprintf("read after %d", e.After)
	case member.Append:
		return fmt.Sprintf("append #%d [%s]", e.Entry.Seq, machine.Commands(e.Entry.Commands))
	case member.Renew:
		return "renew " + e.Key
	case member.Assign:
		return fmt.Sprintf("assign version %d: %d grants", e.Assignment.Version, len(e.Assignment.Grants))
	case member.Halt:
		return "halt: " + e.Err.Error()
	case member.Applying:
		return fmt.Sprintf("applied %d entries", len(e.Entries))
	}
	return ""
}

// Problem appends an error to a line; "" for none.
func Problem(err string) string {
	if err == "" {
		return ""
	}
	return ": " + err
}
