package view

import (
	"cmp"
	"context"
	"slices"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/store"
)

// Member is one member as people see it.
type Member struct {
	Member      string            `json:"member"`
	State       string            `json:"state"` // prepared, joined, draining, held
	Incarnation uint64            `json:"incarnation"`
	Tasks       int               `json:"tasks"`   // partitions that it owns
	Leaving     int               `json:"leaving"` // of those: on their way to others
	Weight      int64             `json:"weight"`
	Capacity    int64             `json:"capacity,omitempty"` // 0: no limit
	Slots       int64             `json:"slots,omitempty"`
	SlotsTaken  int64             `json:"slots_taken,omitempty"` // of those, also while what runs there has yet to stop
	Labels      map[string]string `json:"labels"`
	SinceMS     int64             `json:"since_ms"`
	Address     string            `json:"address,omitempty"`   // of its API
	Heartbeat   *Heartbeat        `json:"heartbeat,omitempty"` // absent where it was not looked for
	Version     string            `json:"version,omitempty"`
}

// weightOf is the weight of a member; 0 stands for 100.
func weightOf(m cluster.Member) int64 { return cmp.Or(m.Weight, 100) }

func memberState(m cluster.Member) string {
	if m.Draining && m.State == cluster.MemberJoined {
		return "draining"
	}
	return m.State.String()
}

// Members shows the members, sorted by name.
func (s Sight) Members() []Member {
	out := []Member{}
	for m := range s.v.Members() {
		out = append(out, s.Member(m))
	}
	return out
}

// Member shows one member.
func (s Sight) Member(m cluster.Member) Member {
	shown := Member{
		Member: string(m.ID), State: memberState(m), Incarnation: uint64(m.Incarnation), Weight: weightOf(m),
		Capacity: m.Capacity, Slots: m.Slots, Labels: make(map[string]string, len(m.Labels)), SinceMS: m.SinceMS,
		Address: m.Address, Version: m.Version,
	}
	for _, l := range m.Labels {
		shown.Labels[l.Key] = l.Value
	}
	if h, ok := s.beats[m.ID]; ok {
		shown.Heartbeat = &h
	}
	for p := range s.v.OwnedBy(m.ID) {
		if p.Owner != m.ID || p.ID.Reserved() {
			continue
		}
		shown.Tasks++
		if p.Slot != 0 {
			shown.SlotsTaken++
		}
		if p.State == cluster.PartitionReleasing || p.State == cluster.PartitionAdopting {
			shown.Leaving++
		}
	}
	return shown
}

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

// Metrics measures a cluster by its value, as the sums of [Status] do: without what is Rota's own. It is plain data;
// see [node.Metric].
func Metrics(v cluster.Value) []node.Metric {
	m, t := Of(v).Counts()
	return []node.Metric{
		byState("rota_cluster_members", "Members of the cluster by state, as seen by this member.",
			count{"joined", m.Joined - m.Draining}, count{"draining", m.Draining}, count{"prepared", m.Prepared},
			count{"held", m.Held}),
		byState("rota_cluster_partitions", "Partitions of the cluster's tasks by state, as seen by this member.",
			count{"waiting", t.Waiting}, count{"granted", t.Running}, count{"moving", t.Moving}, count{"held", t.Held},
			count{"paused", t.Paused},
			count{"parked", t.Parked}, count{"blocked", t.Blocked}, count{"finished", t.Finished}),
	}
}

type count struct {
	state string
	n     int
}

func byState(name, help string, counts ...count) node.Metric {
	m := node.Metric{Name: name, Help: help, Kind: node.Gauge, Label: "state"}
	for _, c := range counts {
		m.Values = append(m.Values, node.MetricValue{Label: c.state, Value: float64(c.n)})
	}
	return m
}
