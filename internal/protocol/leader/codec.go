package leader

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
)

var errForeign = errors.New("it is not a document of this protocol")

// slotText is an assignment with its records.
type slotText struct {
	slotDoc
	Type       string          `json:"type"`                 // for people
	Definition json.RawMessage `json:"definition,omitempty"` // for people, of up to maxText bytes
	Partition  []byte          `json:"partition"`
	Job        []byte          `json:"job"`
}

// maxText bounds what a document has twice, in the record and as text.
const maxText = 64 << 10

// planText is a request with its commands.
type planText struct {
	planDoc
	Commands []string `json:"commands"` // for people
	Entry    []byte   `json:"entry"`    // the commands
}

// Encode writes a document.
func Encode(doc any) ([]byte, error) {
	switch d := doc.(type) {
	case slotDoc:
		spec := d.Job.Spec.Tasks[0]
		t := slotText{slotDoc: d, Type: spec.Type, Partition: d.Partition.Encode(), Job: d.Job.Encode()}
		if len(spec.Definition) <= maxText && json.Valid(spec.Definition) {
			t.Definition = spec.Definition
		}
		return json.Marshal(t)
	case headDoc:
		return encodeHead(d)
	case planDoc:
		d.Format = docFormat
		t := planText{planDoc: d}
		for _, c := range d.Commands {
			t.Commands = append(t.Commands, fmt.Sprint(c))
		}
		t.Entry = cluster.Entry{Writer: d.Writer, Seq: d.Seq, Commands: d.Commands}.Encode()
		return json.Marshal(t)
	}
	return json.Marshal(doc)
}

// Decode reads the document of a key. Its error says what is wrong with it.
func Decode(key string, data []byte) (any, error) {
	doc, err := decodeDoc(key, data)
	if err == nil {
		return doc, nil
	}
	var head struct {
		Format int `json:"format"`
	}
	if json.Unmarshal(data, &head) == nil && head.Format > docFormat { // whatever else is in it
		return nil, fmt.Errorf("it has format %d, this Rota knows %d: upgrade this member", head.Format, docFormat)
	}
	return nil, err
}

// knows reports whether a document has the format that this Rota knows: no release wrote another one.
func knows(format int) bool { return format == docFormat }

func decodeDoc(key string, data []byte) (any, error) {
	switch {
	case key == LeaderKey:
		return decode(data, func(h *holderDoc) bool {
			return knows(h.Format) && h.Member != "" && h.Heartbeat != "" && h.Term > 0
		})
	case key == rosterKey:
		return decode(data, func(r *rosterDoc) bool { return knows(r.Format) && r.Index > 0 })
	case strings.HasPrefix(key, MailboxPrefix):
		return decode(data, func(m *mailboxDoc) bool {
			return knows(m.Format) && mailboxKey(m.Member) == key && m.Heartbeat != ""
		})
	case strings.HasPrefix(key, HeadPrefix):
		return decodeHead(key, data)
	case strings.HasPrefix(key, AssignPrefix):
		return decodeSlot(key, data)
	case strings.HasPrefix(key, planPrefix):
		return decodePlan(key, data)
	}
	return nil, errForeign
}

func decode[T any](data []byte, whole func(*T) bool) (d T, err error) {
	if err := json.Unmarshal(data, &d); err != nil {
		return d, fmt.Errorf("%w: %w", errForeign, err)
	}
	if !whole(&d) {
		return d, errForeign
	}
	return d, nil
}

// headText is a head. People read the tasks of one that is not long; those of a long one are packed.
type headText struct {
	headDoc
	Packed []byte `json:"tasks_packed,omitempty"`
}

// longHead is how many tasks are not packed.
const longHead = 1000

func encodeHead(h headDoc) ([]byte, error) {
	t := headText{headDoc: h}
	if len(h.Tasks) > longHead {
		var packed bytes.Buffer
		w, _ := flate.NewWriter(&packed, flate.BestSpeed) // which is a level that it has
		if err := errors.Join(json.NewEncoder(w).Encode(h.Tasks), w.Close()); err != nil {
			return nil, err
		}
		t.Tasks, t.Packed = nil, packed.Bytes()
	}
	return json.Marshal(t)
}

func decodeHead(key string, data []byte) (any, error) {
	t, err := decode(data, func(t *headText) bool {
		if t.Packed != nil && json.NewDecoder(flate.NewReader(bytes.NewReader(t.Packed))).Decode(&t.Tasks) != nil {
			return false
		}
		bad := slices.ContainsFunc(t.Tasks, func(e taskDoc) bool { return e.Token == 0 || !e.State.assigned() })
		return knows(t.Format) && headKey(t.Member) == key && t.Index > 0 && !bad
	})
	return t.headDoc, err
}

func decodeSlot(key string, data []byte) (any, error) {
	t, err := decode(data, func(t *slotText) bool {
		p, err := cluster.DecodePartition(t.Partition)
		j, err2 := cluster.DecodeJob(t.Job)
		t.slotDoc.Partition, t.slotDoc.Job = p, j
		return err == nil && err2 == nil && knows(t.Format) && slotKey(t.Member, t.Task) == key && p.ID == t.Task &&
			t.Token > 0 && t.Index > 0 && j.Spec != nil && len(j.Spec.Tasks) == 1
	})
	return t.slotDoc, err
}

func decodePlan(key string, data []byte) (any, error) {
	t, err := decode(data, func(*planText) bool { return true })
	if err != nil {
		return nil, err
	}
	e, err := cluster.DecodeEntry(1, t.Entry)
	if err != nil || !knows(t.Format) || planKey(t.Writer, t.Seq) != key || len(e.Commands) == 0 {
		return nil, fmt.Errorf("%w: %w", errForeign, err)
	}
	for _, c := range e.Commands {
		switch c.(type) {
		case cluster.Lead, cluster.TakeRequest, cluster.AcceptOffer, cluster.RevokeOffer, cluster.Place:
			return nil, fmt.Errorf("%w: nobody may ask for %v", errForeign, c)
		}
	}
	t.planDoc.Commands = e.Commands
	return t.planDoc, nil
}
