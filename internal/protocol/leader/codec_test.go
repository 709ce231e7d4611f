package leader

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
)

// TestDocuments: a document is of the place that its key names, whole, and says nothing that its writer may not.
func TestDocuments(t *testing.T) {
	t.Parallel()
	slot := given("{}")
	plan := planDoc{Writer: "w", Seq: 1, Commands: []cluster.Command{cluster.KillJob{Job: "t"}}}
	holder := holderDoc{Format: docFormat, Member: "a", Heartbeat: "p", Term: 1}
	box := mailboxDoc{Format: docFormat, Member: "a", Heartbeat: "p"}
	for what, c := range map[string]struct { // order-free: each is judged alone
		key  string
		doc  any
		fine bool
	}{
		"an assignment":              {"assign/a/t", slot, true},
		"one of another member":      {"assign/b/t", slot, false},
		"one of another partition":   {"assign/a/t", with(slot, func(d *slotDoc) { d.Partition.ID = "u" }), false},
		"one without a token":        {"assign/a/t", with(slot, func(d *slotDoc) { d.Token = 0 }), false},
		"a head":                     {"peer-state/a/state", told(taskDoc{Token: 2, State: slotTaking}), true},
		"a task without a token":     {"peer-state/a/state", told(taskDoc{State: slotActive}), false},
		"a task in no state":         {"peer-state/a/state", told(taskDoc{Token: 2, State: slotIdle}), false},
		"a request":                  {"plan/w/000000000001", plan, true},
		"one of another writer":      {"plan/v/000000000001", plan, false},
		"one with another number":    {"plan/w/000000000002", plan, false},
		"one that asks for nothing":  {"plan/w/000000000001", with(plan, func(d *planDoc) { d.Commands = nil }), false},
		"a leader":                   {"leader/holder", holder, true},
		"one without a term":         {"leader/holder", with(holder, func(d *holderDoc) { d.Term = 0 }), false},
		"one without a heartbeat":    {"leader/holder", with(holder, func(d *holderDoc) { d.Heartbeat = "" }), false},
		"a mailbox":                  {"members/a", box, true},
		"one of another":             {"members/b", box, false},
		"one without its heartbeat":  {"members/a", with(box, func(d *mailboxDoc) { d.Heartbeat = "" }), false},
		"a roster":                   {"roster/members", rosterDoc{Format: docFormat, Index: 1}, true},
		"one of no index":            {"roster/members", rosterDoc{Format: docFormat}, false},
		"a document of a former one": {"roster/members", rosterDoc{Format: docFormat - 1, Index: 1}, false},
	} {
		got, err := Decode(c.key, must.Get(Encode(c.doc))(t))
		if (err == nil) != c.fine || err != nil && strings.Contains(err.Error(), "upgrade") {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	for _, c := range []cluster.Command{cluster.Lead{}, cluster.TakeRequest{}, cluster.AcceptOffer{}, cluster.RevokeOffer{},
		cluster.Place{}} {
		of := with(plan, func(d *planDoc) { d.Commands = append([]cluster.Command{cluster.KillJob{Job: "t"}}, c) })
		if _, err := Decode("plan/w/000000000001", must.Get(Encode(of))(t)); err == nil {
			t.Errorf("anybody may ask for %v", c)
		}
	}
	newer := []byte(fmt.Sprintf(`{"format":%d,"else":1}`, docFormat+1))
	if _, err := Decode(rosterKey, newer); err == nil || !strings.Contains(err.Error(), "upgrade") {
		t.Errorf("a document of a newer Rota: %v", err)
	}
}

// told is a head with these tasks.
func told(tasks ...taskDoc) headDoc {
	return headDoc{Format: docFormat, Member: "a", Index: 2, Tasks: tasks}
}

// given is the assignment of a task with a definition.
func given(definition string) slotDoc {
	b := opened("a")
	b.enter(job("t", cluster.TaskSpec{Definition: []byte(definition)}))
	j, _ := b.v.Job("t")
	return slotDoc{Format: docFormat, Member: "a", Task: "t", Token: 2, Index: 2, Partition: b.part("t"), Job: j}
}

// with is a document with a change.
func with[T any](d T, change func(*T)) T {
	change(&d)
	return d
}

// TestWhatIsLongIsThereOnce: people read a definition and the tasks of a head, if that does not make the document twice
// as long; and a definition that they cannot read as JSON is in the record alone.
func TestWhatIsLongIsThereOnce(t *testing.T) {
	t.Parallel()
	for text, shown := range map[string]bool{ // order-free: each is judged alone
		`"short"`: true, "no JSON": false, `"` + strings.Repeat("x", maxText) + `"`: false,
	} {
		data := must.Get(Encode(given(text)))(t)
		if bytes.Contains(data, []byte(`"definition":`+text)) != shown {
			t.Errorf("the definition %.9s is shown: %t", text, !shown)
		}
		if got := must.Get(Decode("assign/a/t", data))(t).(slotDoc); string(got.Job.Spec.Tasks[0].Definition) != text {
			t.Errorf("the definition %.9s is read as %.9s", text, got.Job.Spec.Tasks[0].Definition)
		}
	}
	for _, n := range []int{longHead, longHead + 1} {
		data := must.Get(Encode(told(slices.Repeat([]taskDoc{{Task: "t", Token: 2, State: slotActive}}, n)...)))(t)
		if got := must.Get(Decode("peer-state/a/state", data))(t).(headDoc); len(got.Tasks) != n {
			t.Errorf("of %d tasks %d are read", n, len(got.Tasks))
		}
		if shown := bytes.Contains(data, []byte(`"task":"t"`)); shown != (n <= longHead) {
			t.Errorf("%d tasks are shown: %t", n, shown)
		}
	}
}
