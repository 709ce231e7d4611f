package powercut

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
)

// flowName is the flow that all writers work on: each puts segments in, and moves segments of anybody to the end.
const flowName = "power@1"

var (
	front = store.Shard{Edge: "front"}
	back  = store.Shard{Edge: "back"}
)

// segment is what is known of one segment of the flow.
type segment struct {
	given, put   bool // somebody was about to put it in; it was acknowledged
	moved, ended bool // the same of its way to the end
}

// move puts a segment into the flow, and moves one that is there to its end: outputs stored and inputs acknowledged as
// one fact.
func (w *writer) move(ctx context.Context) error {
	name := fmt.Sprintf("%s/%d", w.name, w.seq)
	if err := w.commit(ctx, line{Segment: name},
		store.Unit{Name: name, Outputs: []store.Put{{Shard: front, Segments: 1, Data: []byte(name)}}}); err != nil {
		return err
	}
	got, err := w.store.Receive(ctx, flowName, store.Receive{Shard: front, Limit: 1, Lease: time.Second})
	if err != nil || len(got) == 0 {
		return err
	}
	return w.commit(ctx, line{Segment: string(got[0].Data), Moved: true},
		store.Unit{Inputs: got, Outputs: []store.Put{{Shard: back, Segments: 1, Data: got[0].Data}}})
}

func (w *writer) commit(ctx context.Context, said line, u store.Unit) error {
	if err := w.out.Encode(said); err != nil {
		return err
	}
	if _, err := w.store.Commit(ctx, flowName, u); err != nil {
		return err
	}
	return w.acknowledge(said)
}

func (l *ledger) noteSegment(x line) {
	s := l.segments[x.Segment]
	if s == nil {
		s = &segment{}
		l.segments[x.Segment] = s
	}
	s.given, s.put = true, s.put || x.Ack || x.Moved
	s.moved, s.ended = s.moved || x.Moved, s.ended || x.Moved && x.Ack
}

// verifyQueue looks where each segment is: in one place, and not before where it was acknowledged to be.
func (l *ledger) verifyQueue(ctx context.Context, s *file.Store, f *finding) error {
	waiting, err := texts(ctx, s, front)
	if err != nil {
		return err
	}
	ended, err := texts(ctx, s, back)
	if err != nil {
		return err
	}
	for name, is := range l.segments {
		switch in, out := waiting[name], ended[name]; {
		case in+out > 1:
			f.fault("segment %s is there %d times, %d of them at the end", name, in+out, out)
		case is.put && in+out == 0:
			f.lost++
			f.fault("segment %s was put in, and is not there", name)
		case is.ended && out == 0:
			f.lost++
			f.fault("segment %s was moved, and is not at the end", name)
		case !is.moved && out > 0:
			f.fault("segment %s is at the end, and nobody moved it", name)
		default:
			f.segments += in + out
			*is = segment{given: in+out > 0, put: in+out > 0, moved: out > 0, ended: out > 0}
		}
		delete(waiting, name)
		delete(ended, name)
	}
	if len(waiting)+len(ended) > 0 {
		f.fault("%d segments are there that nobody put in", len(waiting)+len(ended))
	}
	return nil
}

// texts counts what waits in a shard.
func texts(ctx context.Context, s *file.Store, shard store.Shard) (map[string]int, error) {
	there := make(map[string]int)
	for after := uint64(0); ; {
		all, err := s.Receive(ctx, flowName, store.Receive{Shard: shard, Peek: true, After: after, Limit: 1000})
		if errors.Is(err, store.ErrNotFound) {
			return there, nil // it was cut before there was a flow
		}
		if err != nil || len(all) == 0 {
			return there, err
		}
		for i := range all {
			there[string(all[i].Data)]++
			after = all[i].Number
		}
	}
}
