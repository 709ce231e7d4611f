package stage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/rota-run/rota/internal/flow"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// TestReadAhead checks what an input reads for one unit: up to Ahead reads, until the end, an error, a read that finds
// nothing, or too many bytes.
func TestReadAhead(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		end, fails, nothing, size int // at which read; how long a segment is
		alone                     int // at which read the position goes on alone, from 1; asked again, it fails
		from                      string
		messages                  int
		next                      string // "" for a seal
		err                       error
	}{
		"as many as allowed":    {end: 100, messages: 4, next: "xxxx"},
		"from a position on":    {end: 100, from: "xx", messages: 4, next: "xxxxxx"},
		"until the end":         {end: 2, messages: 3},
		"until an error":        {end: 100, fails: 2, messages: 2, next: "xx"},
		"an error at once":      {end: 100, fails: 3, from: "xxx", err: broken},
		"until nothing is left": {end: 100, nothing: 3, messages: 3, next: "xxx"},
		"a position alone":      {end: 100, alone: 1, messages: 3, next: "xxxx"},
		"until it is enough":    {end: 100, size: MaxOutput * 2 / 5, messages: 2, next: "xx"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			read := func(_ context.Context, _ *work.Grant, at []byte, out *Out) ([]byte, bool, error) {
				asked++
				switch n := len(at); {
				case c.alone == n+1 && asked == c.alone:
					return append(at, 'x'), false, nil
				case c.alone == n+1:
					return nil, false, broken
				case c.fails > 0 && n == c.fails:
					return nil, false, broken
				case c.nothing > 0 && n == c.nothing:
					return at, false, nil
				}
				_ = out.Send(append(fmt.Append(nil, len(at)), make([]byte, c.size)...), nil)
				return append(append([]byte{}, at...), 'x'), len(at) == c.end, nil
			}
			w := worker{
				grant: &work.Grant{Log: slog.New(slog.DiscardHandler)}, input: &Input{Read: read, Ahead: 4},
				in:    []flow.Shard{{Edge: "at"}},
				edges: []flow.Edge{{From: "in", To: "out", Shards: 2}},
			}
			m := store.Message{Shard: store.Shard{Edge: "at"}, Number: 5, Data: []byte(c.from)}
			units, err := w.read(t.Context(), m)
			if !errors.Is(err, c.err) {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			u := units[0]
			messages, last := u.Outputs[:len(u.Outputs)-1], u.Outputs[len(u.Outputs)-1]
			if len(units) != 1 || len(u.Inputs) != 1 || len(messages) != c.messages {
				t.Fatalf("%d units of %d inputs and %d messages", len(units), len(u.Inputs), len(messages))
			}
			if last.Shard != m.Shard || last.Seal != (c.next == "") || string(last.Data) != c.next {
				t.Errorf("the last output is %+v, want the position %q", last, c.next)
			}
			for i, p := range messages {
				parts, err := SegmentsOf(p.Data, p.Segments)
				if want := fmt.Sprint(len(c.from) + c.alone + i); err != nil || len(parts) != 1 ||
					string(parts[0][:len(want)]) != want {
					t.Errorf("message %d has %d segments, %v; want %s", i, len(parts), err, want)
				}
				if p.Shard.Number != (5+c.alone+i)%2 {
					t.Errorf("message %d goes to shard %d", i, p.Shard.Number)
				}
			}
		})
	}
}
