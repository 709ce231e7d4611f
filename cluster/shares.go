package cluster

import "github.com/rota-run/rota/schedule"

// Shares are the partitions that a member should give away now, and to whom: its part of the plan that all members make of this value. Sorted as the plan
// is. It is empty unless Settings.Placement is shared.
func (v Value) Shares(self MemberID) (out []Share) {
	budget := v.Settings().MoveBudget - v.derived.moving
	if !v.shared() || budget <= 0 {
		return nil
	}
	d := &draft{Value: v}
	for kind := range kinds {
		if kind != kindTasks && !d.present(kind) {
			continue
		}
		view := newView(&d.Value, kind)
		for _, mv := range schedule.Place(view, budget).Moves {
			if mv.From < 0 || view.members[mv.From].ID != string(self) {
				continue
			}
			p, ok := v.partitions.Get(PartitionID(mv.Item))
			if !ok || p.State != PartitionGranted {
				continue
			}
			s := Share{Partition: p.ID, Token: p.Token}
			if mv.To >= 0 {
				s.To = MemberID(view.members[mv.To].ID)
			}
			out = append(out, s)
		}
	}
	return out
}
