package main

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/internal/schedule"
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

// peer is the input as the peer takes it: what each member says when it joins the group.
type peer struct {
	in       input
	balancer kgo.GroupBalancer
	members  []kmsg.JoinGroupResponseMember
	topics   map[string]int32 // number of partitions
	byID     map[string]int   // index of a member
	byTopic  map[string]int
}

func newPeer(in input) *peer {
	p := &peer{in: in, balancer: kgo.CooperativeStickyBalancer(), topics: map[string]int32{}, byID: map[string]int{},
		byTopic: map[string]int{}}
	names := make([]string, in.topics)
	for t := range names {
		names[t] = topic(t)
		p.byTopic[names[t]] = t
		p.topics[names[t]] = int32((in.partitions - t + in.topics - 1) / in.topics)
	}
	for m, owned := range p.owned() {
		p.byID[memberID(m)] = m
		p.members = append(p.members, kmsg.JoinGroupResponseMember{
			MemberID: memberID(m), ProtocolMetadata: p.balancer.JoinGroupMetadata(slices.Clone(names), owned, 1),
		})
	}
	return p
}

func (p *peer) owned() []map[string][]int32 {
	out := make([]map[string][]int32, p.in.members)
	for m := range out {
		out[m] = map[string][]int32{}
	}
	for i, o := range p.in.owner {
		if o >= 0 {
			name := topic(i % p.in.topics)
			out[o][name] = append(out[o][name], int32(i/p.in.topics))
		}
	}
	return out
}

// decode reads what the members say.
func (p *peer) decode() (kgo.GroupMemberBalancer, error) {
	b, _, err := p.balancer.MemberBalancer(p.members)
	if err != nil {
		return nil, fmt.Errorf("decode members: %w", err)
	}
	return b, nil
}

// balance plans.
func (p *peer) balance(b kgo.GroupMemberBalancer) (kgo.IntoSyncAssignment, error) {
	failing, ok := b.(kgo.GroupMemberBalancerOrError)
	if !ok {
		return b.Balance(p.topics), nil
	}
	plan, err := failing.BalanceOrError(p.topics)
	if err != nil {
		return nil, fmt.Errorf("balance: %w", err)
	}
	return plan, nil
}

// owners is the ownership after a plan. A partition that is to move is given up first, so that it has no owner here.
func (p *peer) owners(plan kgo.IntoSyncAssignment) ([]int, error) {
	after := make([]int, p.in.partitions)
	for i := range after {
		after[i] = -1
	}
	for _, a := range plan.IntoSyncAssignment() {
		topics, err := p.balancer.ParseSyncAssignment(a.MemberAssignment)
		if err != nil {
			return nil, fmt.Errorf("parse assignment of %s: %w", a.MemberID, err)
		}
		for name, partitions := range topics {
			for _, part := range partitions {
				after[int(part)*p.in.topics+p.byTopic[name]] = p.byID[a.MemberID]
			}
		}
	}
	return after, nil
}
