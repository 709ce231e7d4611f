package supervisor

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/work"
)

// granted is what a run keeps of its grant. A member has tens of thousands of runs, of which most wait for their next round: each round gets a [work.Grant] of its own.
type granted struct {
	id         cluster.PartitionID
	token      cluster.Token
	attempt    int64
	definition *work.Definition // shared, read-only
	more       *more            // nil for most
}

// more is what few grants have.
type more struct {
	parents      []string
	listedBy     string
	input        []byte
	index, count int64
}

func grantedBy(fx *Start) granted {
	g := fx.Grant
	out := granted{id: g.Partition, token: g.Token, attempt: g.Attempt, definition: fx.Definition}
	if len(g.Parents) > 0 || g.ListedBy != "" || len(g.Input) > 0 || g.Index != 0 || g.Count != 0 {
		out.more = &more{g.Parents, g.ListedBy, g.Input, g.Index, g.Count}
	}
	return out
}

// grant makes what a Runner gets.
func (r *run) grant() *work.Grant {
	job, task, key := r.id.Split()
	g := &work.Grant{
		Partition: r.id, Job: job, Task: task, Key: key, Member: r.s.conf.Member, Token: r.token, Attempt: r.attempt, Definition: *r.definition, Host: r, Log: r.log(),
	}
	if m := r.more; m != nil {
		g.Parents, g.ListedBy, g.Input, g.Index, g.Count = m.parents, m.listedBy, m.input, m.index, m.count
	}
	return g
}
