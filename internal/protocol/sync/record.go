package sync

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rota-run/rota/cluster"
)

// record is one message of the sync topic: what one member, or a client, says of its own state.
type record struct {
	SyncEpoch        string  `json:"syncEpoch"` // of the value that the writer had
	TaskID           string  `json:"taskID"`    // the writer
	MessageTimestamp string  `json:"messageTimestamp"`
	ConnectorState   []state `json:"connectorState"`
	// Sequence, the writer's own, removes duplicates. Format is cluster.Format.
	Sequence uint64 `json:"sequence"`
	Format   uint32 `json:"format"`
	Base     base   `json:"base"`
}

// base is the newest record that the writer had applied.
type base struct {
	Index cluster.Index `json:"index"`
	Chain cluster.Hash  `json:"chain"`
}

// state is the writer's own: what it changes (data) and what it gives away (share).
type state struct {
	TaskID         string `json:"taskID"`
	StateTimestamp string `json:"stateTimestamp"`
	Data           data   `json:"data,omitzero"`
	Share          share  `json:"share,omitzero"`
}

type data struct {
	Commands []json.RawMessage `json:"commands"`
}

type share struct {
	Partitions []shared `json:"partitions"`
}

// shared is a cluster.Share; At is its place among the commands of the record.
type shared struct {
	At        int                 `json:"at"`
	Partition cluster.PartitionID `json:"partition"`
	Token     cluster.Token       `json:"token"`
	To        cluster.MemberID    `json:"to,omitempty"`
}

// timeFormat is RFC 3339 with milliseconds.
const timeFormat = "2006-01-02T15:04:05.000Z"

// lastMS is the end of the year 9999: what comes after cannot be written.
const lastMS = 253402300799999

// EncodeRecord writes an entry as a message of the sync topic. Epoch is the one of the value that its writer had.
func EncodeRecord(e cluster.Entry, epoch string) ([]byte, error) {
	at := time.UnixMilli(min(max(e.AtMS, 0), lastMS)).UTC().Format(timeFormat)
	s := state{TaskID: string(e.Writer), StateTimestamp: at}
	for i, c := range e.Commands {
		if c, ok := c.(cluster.Share); ok {
			s.Share.Partitions = append(s.Share.Partitions,
				shared{At: i, Partition: c.Partition, Token: c.Token, To: c.To})
			continue
		}
		b, err := encodeCommand(c)
		if err != nil {
			return nil, err
		}
		s.Data.Commands = append(s.Data.Commands, b)
	}
	return marshal(record{
		SyncEpoch: epoch, TaskID: string(e.Writer), MessageTimestamp: at, ConnectorState: []state{s},
		Sequence: e.Seq, Format: cluster.Format, Base: base{e.BaseIndex, e.BaseChain},
	})
}

// marshal is json.Marshal without escapes that only a web page needs.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

var errNoRecord = errors.New("it is no record of the protocol sync")

// DecodeRecord reads a message of the sync topic. Its error is a *cluster.FormatError if it is of another format.
func DecodeRecord(b []byte) (cluster.Entry, error) {
	if !utf8.Valid(b) {
		return cluster.Entry{}, errNoRecord
	}
	var r record
	err := strict(b, &r)
	if err != nil || r.Format != cluster.Format {
		if f := otherFormat(b); f != 0 {
			return cluster.Entry{}, &cluster.FormatError{Format: f}
		}
	}
	if err != nil || len(r.ConnectorState) != 1 || r.ConnectorState[0].TaskID != r.TaskID || r.Format == 0 {
		return cluster.Entry{}, errors.Join(errNoRecord, err)
	}
	at, err := time.Parse(timeFormat, r.MessageTimestamp)
	if err != nil {
		return cluster.Entry{}, errors.Join(errNoRecord, err)
	}
	e := cluster.Entry{
		Writer: cluster.WriterID(r.TaskID), Seq: r.Sequence, AtMS: min(max(at.UnixMilli(), 0), lastMS),
		BaseIndex: r.Base.Index, BaseChain: r.Base.Chain,
	}
	e.Commands, err = r.ConnectorState[0].commands()
	return e, err
}

// otherFormat is that of a record of another Rota, which may have fields that this one does not know; 0 for anything
// else.
func otherFormat(b []byte) uint32 {
	var r struct {
		Format         uint32            `json:"format"`
		ConnectorState []json.RawMessage `json:"connectorState"`
	}
	if json.Unmarshal(b, &r) != nil || r.Format == cluster.Format || len(r.ConnectorState) != 1 {
		return 0
	}
	return r.Format
}

// strict reads one JSON text that has nothing else than the fields of v.
func strict(b []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something comes after it")
	}
	return nil
}

// commands are those of data and share in their order.
func (s state) commands() ([]cluster.Command, error) {
	raw, shares := s.Data.Commands, s.Share.Partitions
	out := make([]cluster.Command, 0, len(raw)+len(shares))
	for len(raw)+len(shares) > 0 {
		if len(shares) > 0 && shares[0].At == len(out) {
			out = append(out, cluster.Share{Partition: shares[0].Partition, Token: shares[0].Token, To: shares[0].To})
			shares = shares[1:]
			continue
		}
		if len(raw) == 0 {
			return nil, fmt.Errorf("%w: a share has no place", errNoRecord)
		}
		c, err := decodeCommand(raw[0])
		if err != nil {
			return nil, errors.Join(errNoRecord, err)
		}
		out, raw = append(out, c), raw[1:]
	}
	return out, nil
}

// said is one of each command that stands in data.
func said() []cluster.Command {
	return []cluster.Command{
		cluster.Epoch{}, cluster.Own{}, cluster.LeaveCluster{}, cluster.ReleaseHold{}, cluster.DrainMember{},
		cluster.SubmitJob{}, cluster.UpdateJob{}, cluster.KillJob{}, cluster.Started{}, cluster.Stopped{},
		cluster.FinishPartition{}, cluster.SplitPartition{}, cluster.AdvanceWindow{}, cluster.UnparkPartition{},
		cluster.Configure{}, cluster.Place{}, cluster.PrepareJoin{}, cluster.AcceptJoin{}, cluster.AbortJoin{},
		cluster.ConfirmMember{}, cluster.Lead{}, cluster.AcceptOffer{}, cluster.RevokeOffer{}, cluster.TakeRequest{},
		cluster.Claim{}, cluster.PauseJob{}, cluster.ResumeJob{}, cluster.Rebalance{},
	}
}

// encodeCommand writes {"finishPartition":{"partition":"x","token":7}}: the name of the command, and its fields that
// are not zero.
func encodeCommand(c cluster.Command) ([]byte, error) {
	if c == nil {
		return nil, errors.New("encode a record: no command")
	}
	v := reflect.ValueOf(c)
	b := append(appendName([]byte{'{'}, v.Type().Name()), ':')
	b, err := appendValue(b, v)
	return append(b, '}'), err
}

func decodeCommand(b []byte) (cluster.Command, error) {
	var named map[string]json.RawMessage
	if err := json.Unmarshal(b, &named); err != nil {
		return nil, err
	}
	for _, sample := range said() {
		t := reflect.TypeOf(sample)
		if text, ok := named[lower(t.Name())]; ok && len(named) == 1 {
			v := reflect.New(t)
			err := strict(text, v.Interface())
			return v.Elem().Interface().(cluster.Command), err
		}
	}
	return nil, errors.New("an unknown command")
}

// nameOf is the name of a field: that of its tag, if it has one.
func nameOf(f reflect.StructField) string { return cmp.Or(f.Tag.Get("json"), f.Name) }

// lower is a name of Go as one of JSON.
func lower(name string) string {
	r, n := utf8.DecodeRuneInString(name)
	if name == strings.ToUpper(name) { // ID
		return strings.ToLower(name)
	}
	return string(unicode.ToLower(r)) + name[n:]
}

func appendName(b []byte, name string) []byte {
	return append(append(append(b, '"'), lower(name)...), '"')
}

func appendValue(b []byte, v reflect.Value) ([]byte, error) {
	var err error
	switch {
	case v.Kind() == reflect.Struct:
		b, err = appendFields(append(b, '{'), v)
		return append(bytes.TrimSuffix(b, []byte{','}), '}'), err
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendValue(b, v.Index(i)); err != nil {
				return b, err
			}
		}
		return append(b, ']'), nil
	}
	text, err := marshal(v.Interface())
	return append(b, text...), err
}

// appendFields writes the fields that are not zero, each with a comma after it; those of an embedded struct as if they
// were its own.
func appendFields(b []byte, v reflect.Value) ([]byte, error) {
	for i := range v.NumField() {
		f, about := v.Field(i), v.Type().Field(i)
		if f.IsZero() {
			continue
		}
		var err error
		if about.Anonymous {
			b, err = appendFields(b, f)
		} else {
			b, err = appendValue(append(appendName(b, nameOf(about)), ':'), f)
			b = append(b, ',')
		}
		if err != nil {
			return b, err
		}
	}
	return b, nil
}
