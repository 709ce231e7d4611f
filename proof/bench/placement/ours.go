package main

import (
	"fmt"

	"github.com/rota-run/rota/schedule"
)

// ours is the input as Rota takes it.
type ours struct {
	members []schedule.Member
	classes []schedule.Class
	items   []schedule.Item
}

func newOurs(in input) ours {
	o := ours{classes: []schedule.Class{{Key: "partitions", Weight: 1}}}
	for m := range in.members {
		o.members = append(o.members, schedule.Member{ID: memberID(m)})
	}
	o.items = make([]schedule.Item, in.partitions)
	for i, owner := range in.owner {
		o.items[i] = schedule.Item{ID: fmt.Sprintf("job/task/%08d", i), Owner: owner, Movable: true}
	}
	return o
}

func (o ours) view() *schedule.Table { return schedule.NewTable(o.members, o.classes, o.items) }

// owners is the ownership after a plan.
func (o ours) owners(p schedule.Plan) []int {
	at := make(map[string]int, len(p.Moves))
	for _, m := range p.Moves {
		at[m.Item] = m.To
	}
	after := make([]int, len(o.items))
	for i := range o.items {
		after[i] = o.items[i].Owner
		if to, ok := at[o.items[i].ID]; ok {
			after[i] = to
		}
	}
	return after
}
