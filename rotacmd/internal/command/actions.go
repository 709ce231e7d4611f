package command

import (
	"fmt"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/operate"
	"github.com/rota-run/rota/source"
)

// actions are what the API of this member does, in the member's name and by its types.
func (c *config) actions(n *node.Node) *api.Actions {
	return &api.Actions{
		Operator: operate.New(operate.Inside(n), c.node.Store, n.Queue(), c.node.Types, fmt.Sprintf("API of %s", c.node.Member)),
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
