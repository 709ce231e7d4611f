package view

import (
	"cmp"
	"context"
	"slices"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/store"
)

// Call is a call of a function that the store has.
type Call struct{ call.Listed }

// CallStates are those that a call may have.
func CallStates() []string {
	return []string{
		string(call.Queued), string(call.Running), string(call.Done), string(call.Failed), string(call.Cancelled),
	}
}

// Calls are the calls that the store has, sorted by name, and how many more cannot be read. With a state,
// only those in it.
func Calls(ctx context.Context, docs store.Docs, state string) (calls []Call, unreadable int, err error) {
	all, unreadable, err := call.List(ctx, docs)
	if err != nil {
		return nil, 0, err
	}
	calls = make([]Call, 0, len(all))
	for _, c := range all {
		if state == "" || string(c.State) == state {
			calls = append(calls, Call{c})
		}
	}
	slices.SortFunc(calls, func(a, b Call) int { return cmp.Compare(a.ID, b.ID) })
	return calls, unreadable, nil
}

// Calls are those of the cluster; none without a Lookout.
func (w Viewer) Calls(ctx context.Context, state string) (calls []Call, unreadable int, err error) {
	if w.Lookout == nil {
		return nil, 0, nil
	}
	return Calls(ctx, w.Lookout.docs, state)
}

// Outside is the call without what only its function and its caller know: the argument and the result.
func (c Call) Outside() Call {
	c.Arg, c.Result = nil, nil
	if c.Outcome != nil {
		o := *c.Outcome
		o.Result = nil
		c.Outcome = &o
	}
	return c
}
