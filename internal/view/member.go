package view

import (
	"github.com/rota-run/rota/cluster"
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

// defaultWeight is what a weight of 0 stands for.
const defaultWeight = 100

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
		Member: string(m.ID), State: m.State.String(), Incarnation: uint64(m.Incarnation), Weight: m.Weight, Capacity: m.Capacity,
		Slots: m.Slots, Labels: make(map[string]string, len(m.Labels)), SinceMS: m.SinceMS, Address: m.Address, Version: m.Version,
	}
	if shown.Weight == 0 {
		shown.Weight = defaultWeight
	}
	if m.Draining && m.State == cluster.MemberJoined {
		shown.State = "draining"
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
