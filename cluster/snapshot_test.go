package cluster

import (
	"bytes"
	"testing"
)

// The digest is a sum: records in another order have the same one. A snapshot has one encoding all the same.
func TestASnapshotOutOfOrder(t *testing.T) {
	t.Parallel()
	v, _ := played(t, richStory(t))
	data := v.Snapshot()
	var members [][]byte
	v.members.Each(func(_ MemberID, m memberRecord) bool {
		var x coder
		codeMember(&x, &m.Member)
		members = append(members, x.data)
		return true
	})
	if len(members) < 2 {
		t.Fatalf("the story has %d members", len(members))
	}
	sorted := bytes.Join(members, nil)
	at := bytes.Index(data, sorted)
	if at < 0 {
		t.Fatal("the members are not in the snapshot")
	}
	members[0], members[1] = members[1], members[0]
	swapped := bytes.Clone(data)
	copy(swapped[at:], bytes.Join(members, nil))
	if _, err := DecodeSnapshot(swapped); err == nil {
		t.Error("members that are not sorted were read")
	}
	if _, err := DecodeSnapshot(data); err != nil {
		t.Fatal(err)
	}
}
