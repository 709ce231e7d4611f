package logqueue

import (
	"github.com/rota-run/rota/store"
)

// operation is a record of a flow's log. ID is of its author.
type operation struct {
	ID     string
	Kind   uint64
	Make   []store.Shard
	Take   take
	Relet  relet
	Commit []unit
}

// The kinds of operations.
const (
	opMake uint64 = iota + 1
	opDrop
	opTake
	opRelet
	opCommit
)

// take begins leases of messages of one shard.
type take struct {
	Shard    int    // its place in Make
	Lease    uint64 // nanoseconds
	Messages []delivery
}

// relet lengthens leases of one shard, or ends them.
type relet struct {
	Shard        int
	Lease        uint64
	Keep, Return []delivery
}

// delivery is a message and how often it was delivered: a number of each, in this order.
type delivery [2]uint64

// unit is a store.Unit.
type unit struct {
	Name    string
	Inputs  []place
	Outputs []output
}

// place is a message of a shard: a number of each.
type place [2]uint64

// output is a store.Put. Its data are in the record if they are few, else in the bundle At, from a byte on.
type output struct {
	Shard      int
	Segments   int
	Seal       bool
	Data       []byte
	At         string
	From, Size int
}

func (o *operation) code(x *coder) {
	x.text(&o.ID)
	x.uint(&o.Kind)
	switch o.Kind {
	case opMake:
		list(x, &o.Make, x.shard)
	case opDrop:
	case opTake:
		x.int(&o.Take.Shard)
		x.uint(&o.Take.Lease)
		list(x, &o.Take.Messages, x.delivery)
	case opRelet:
		x.int(&o.Relet.Shard)
		x.uint(&o.Relet.Lease)
		list(x, &o.Relet.Keep, x.delivery)
		list(x, &o.Relet.Return, x.delivery)
	case opCommit:
		list(x, &o.Commit, x.unit)
	default:
		x.bad = true
	}
}

func (x *coder) shard(s *store.Shard) {
	x.text(&s.Edge)
	x.int(&s.Number)
}

func (x *coder) delivery(d *delivery) {
	x.uint(&d[0])
	x.uint(&d[1])
}

func (x *coder) unit(u *unit) {
	x.text(&u.Name)
	list(x, &u.Inputs, func(p *place) {
		x.uint(&p[0])
		x.uint(&p[1])
	})
	list(x, &u.Outputs, x.output)
}

func (x *coder) output(o *output) {
	x.int(&o.Shard)
	x.int(&o.Segments)
	x.bool(&o.Seal)
	x.bytes(&o.Data)
	x.text(&o.At)
	if o.At != "" {
		x.int(&o.From)
		x.int(&o.Size)
	}
}

func encode(op operation) []byte {
	x := newWriter()
	op.code(x)
	return x.data
}

func decode(data []byte) (op operation, err error) {
	x := newReader(data)
	op.code(x)
	return op, x.end()
}
