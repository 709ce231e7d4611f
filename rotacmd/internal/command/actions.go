package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rota-run/rota/api"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/node"
	"github.com/rota-run/rota/source"
)

// actions are what the API of this member does, in the member's name and by its types.
func (c *config) actions(n *node.Node) *api.Actions {
	return &api.Actions{
		Do: func(ctx context.Context, command cluster.Command) (cluster.Result, error) {
			results, err := n.Propose(ctx, command)
			if err != nil {
				return cluster.Result{}, err
			}
			result := results[0]
			if d, ok := command.(cluster.DrainMember); ok && (result.Accepted || !d.On) {
				was, err := node.KeepDrained(ctx, c.node.Store, d.Member, d.On, fmt.Sprintf("API of %s", c.node.Member))
				if err != nil {
					return cluster.Result{}, err
				}
				result.Accepted = result.Accepted || was
			}
			if result.Accepted {
				n.Asked(command)
			}
			return result, nil
		},
		RunNow: func(ctx context.Context, task string) error {
			_, err := n.RunNow(ctx, task, fmt.Sprintf("API of %s", c.node.Member))
			var none *node.NoRoundError
			if errors.As(err, &none) {
				return &api.AskError{Reason: none.Error()}
			}
			return err
		},
		Job: func(definition []byte) (cluster.JobID, cluster.JobSpec, error) {
			id, spec, err := source.ParseJob(stdinName, definition, c.node.Types, foreignType)
			if id == source.ID(stdinName) {
				id = ""
			}
			return id, spec, err
		},
	}
}

// foreignType reports whether a type is of the members' own program: this binary cannot check it.
func foreignType(name string) bool {
	return strings.Contains(name, ".") && !strings.HasPrefix(name, "rota.")
}
