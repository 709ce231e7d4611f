package kernel

import (
	"fmt"

	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/protocol/shell"
)

// Act returns what a shared effect means to the world; others are for listeners alone.
func Act(e machine.Effect) machine.Act {
	switch e := e.(type) {
	case shell.ReadLog, shell.ReadSnapshot, shell.CheckLog:
		return machine.Call{}
	case shell.Append:
		return machine.Call{Write: true}
	case shell.Renew:
		return machine.Call{Renew: true, Begin: e.Create}
	case shell.SaveSnapshot:
		return machine.Call{Keep: true}
	case shell.WakeAt:
		return machine.Wake{At: e.At}
	case shell.Assign:
		return machine.Assign{Assignment: e.Assignment}
	case shell.Applying:
		return machine.Applied{Value: e.Value}
	case shell.Reply:
		return machine.Reply{ID: e.ID, Results: e.Results}
	case shell.Left:
		return machine.Left{}
	case shell.Halt:
		return machine.Halt{Err: e.Err}
	}
	return machine.Told{}
}

// Describe returns one line about a shared effect or event; "" for others.
func Describe(x any) string {
	switch e := x.(type) {
	case shell.Read:
		return fmt.Sprintf("read %d entries, head %d%s", len(e.Page.Records), e.Page.Head, Problem(e.Err))
	case shell.Appended:
		return fmt.Sprintf("appended #%d at %d (outcome %d)%s", e.Seq, e.Index, e.Outcome, Problem(e.Err))
	case shell.Renewed:
		return fmt.Sprintf("renewed %s (outcome %d)%s", e.Key, e.Outcome, Problem(e.Err))
	case shell.Reported:
		return fmt.Sprintf("supervisor at version %d runs %d", e.Version, len(e.Reports))
	case shell.ReadLog:
		return fmt.Sprintf("read after %d", e.After)
	case shell.Append:
		return fmt.Sprintf("append #%d [%s]", e.Entry.Seq, machine.Commands(e.Entry.Commands))
	case shell.Renew:
		return "renew " + e.Key
	case shell.Assign:
		return fmt.Sprintf("assign version %d: %d grants", e.Assignment.Version, len(e.Assignment.Grants))
	case shell.Halt:
		return "halt: " + e.Err.Error()
	case shell.Applying:
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
