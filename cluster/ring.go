package cluster

// The ring is computed, never stored: all members, prepared and joined, sorted by ID; each watches its successor.
// The source document stores pairs and edits them, which breaks (docs/decisions).

// Successor returns the member that m watches in the ring; "" if m is alone or not in the ring.
func (v Value) Successor(m MemberID) MemberID {
	if self, ok := v.members.Get(m); !ok || self.State == MemberHeld {
		return ""
	}
	return v.after(m)
}

// after is the first member of the ring after the name, wrapping at the end; "" if there is none but itself.
func (v Value) after(m MemberID) MemberID {
	var next MemberID
	pick := func(id MemberID, rec memberRecord) bool {
		if rec.State == MemberHeld || id == m {
			return true
		}
		next = id
		return false
	}
	v.members.From(m, pick)
	if next == "" {
		v.members.Each(pick)
	}
	return next
}

// before is the last member of the ring before the name, wrapping at the start; "" if there is none but itself.
func (v Value) before(m MemberID) MemberID {
	var prev MemberID
	pick := func(id MemberID, rec memberRecord) bool {
		if rec.State == MemberHeld || id == m {
			return true
		}
		prev = id
		return false
	}
	v.members.BackFrom(m, pick)
	if prev == "" {
		v.members.Back(pick)
	}
	return prev
}

// Rank is the member's place, from 0, in the order in which members report the watched one: the ring order after the watched member's predecessor.
// The predecessor has rank 0.
func (v Value) Rank(self, watched MemberID) int {
	rank := 0
	for m := v.before(watched); m != "" && m != self && rank < v.members.Len(); m = v.before(m) {
		if m == watched {
			continue
		}
		rank++
	}
	return rank
}
