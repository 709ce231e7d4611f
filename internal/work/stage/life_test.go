package stage

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/flow"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// script is a place whose queue answers one call with an error: without doing what it was asked for, or after that.
type script struct {
	*place
	single       bool   // its units have one input
	call         string // and the edge of its first shard; "lost " before it: it is done
	err          error
	stop         context.CancelFunc
	sealed, told int
	called       int
}

func (s *script) Flow(ctx context.Context, g *work.Grant) (supervisor.Flow, error) {
	f, err := s.place.Flow(ctx, g)
	f.Queue, f.Notify = s, func() { s.told++ }
	return f, err
}

func (s *script) once(call, edge string) error {
	if s.call != call+" "+edge {
		return nil
	}
	s.call = ""
	return s.err
}

func (s *script) MakeFlow(ctx context.Context, name string, shards []store.Shard) error {
	return cmp.Or(s.once("make", name), s.place.MakeFlow(ctx, name, shards))
}

func (s *script) Receive(ctx context.Context, flow string, r store.Receive) ([]store.Message, error) {
	if err := s.once(map[bool]string{false: "receive", true: "keep"}[len(r.Keep) > 0], r.Shard.Edge); err != nil {
		return nil, err
	}
	return s.place.Receive(ctx, flow, r)
}

func (s *script) Depth(ctx context.Context, flow string, all ...store.Shard) ([]store.Depth, error) {
	if err := s.once("depth", all[0].Edge); err != nil {
		return nil, err
	}
	return s.place.Depth(ctx, flow, all...)
}

func (s *script) Commit(ctx context.Context, flow string, units ...store.Unit) ([]bool, error) {
	from := units[0].Name
	if in := units[0].Inputs; len(in) > 0 {
		from = in[0].Shard.Edge
	}
	if err := s.once("commit", from); err != nil {
		return nil, err
	}
	if s.single && len(units[0].Inputs) > 1 {
		return nil, errors.ErrUnsupported
	}
	fresh, err := s.place.Commit(context.WithoutCancel(ctx), flow, units...) // a store may be done before it hears
	return fresh, errors.Join(err, s.once("lost commit", from))
}

var errBroken = errors.New("broken")

// more is what a function does beside putting out what comes in.
func more(how string, g *work.Grant, in string, out *Out) error {
	spaces := func(n int) error { return out.Send(bytes.Repeat([]byte(" "), n), nil) }
	switch y := strings.Contains(in, "y"); how {
	case "fails":
		return map[bool]error{true: errBroken}[y]
	case "fails unseen":
		if y {
			_ = out.Fail(errBroken)
		}
	case "large":
		if y {
			return spaces(MaxOutput - MaxState)
		}
	case "large together":
		return spaces((MaxOutput - MaxState) * 2 / 3)
	case "large in turn": // beside x, y has no room
		if strings.Contains(in, "x") {
			_ = spaces(MaxOutput / 3)
		}
		if y {
			_ = spaces(MaxOutput * 3 / 4)
		}
	case "stops":
		g.Host.(*script).stop()
		return map[bool]error{true: errBroken}[in == "w"]
	}
	return nil
}

func stageThat(how string) Stage {
	s := Stage{Attempts: -1, Do: func(ctx context.Context, g *work.Grant, in [][]byte, out *Out) error {
		for _, s := range in {
			_ = out.Send(s, nil)
		}
		g.Host.(*script).called++
		if b := BatchName(ctx); !strings.HasPrefix(b, "a.") || BatchKey(ctx) != "f/b/"+b {
			return errors.New("a batch has the name " + b + " and the key " + BatchKey(ctx))
		}
		return more(how, g, string(bytes.Join(in, nil)), out)
	}}
	turn := store.Shard{Edge: "end/b"}
	switch how {
	case "seals": // it has the turn for itself, and its name is there
		s.Seal = func(ctx context.Context, g *work.Grant) error {
			s := g.Host.(*script)
			s.sealed++
			others, err := s.place.Receive(ctx, "f", store.Receive{Shard: turn, Limit: 1, Lease: lease})
			names, err2 := s.place.Receive(ctx, "f", store.Receive{Shard: turn, Limit: 9, Peek: true})
			if len(others) > 0 || len(names) != 1 || string(names[0].Data) != "m" {
				return errors.New("it is the turn of others too")
			}
			return errors.Join(err, err2)
		}
	case "seal fails":
		s.Seal = func(context.Context, *work.Grant) error { return errBroken }
	}
	return s
}

func keyedThat(how string) Keyed {
	do := stageThat(how).Do
	k := Keyed{
		Do: func(ctx context.Context, g *work.Grant, state []byte, in [][]byte, out *Out) ([]byte, error) {
			if g.Index != int64(bytes.Count(in[0], []byte("z"))) || g.Count != 2 {
				return nil, errors.New("in another shard")
			}
			state = append(state, bytes.Join(in, nil)...)
			if how == "large state" && bytes.Contains(state, []byte("y")) {
				state = make([]byte, MaxState+1)
			}
			return state, do(ctx, g, in, out)
		},
		End: func(_ context.Context, _ *work.Grant, state []byte, out *Out) error {
			return errors.Join(out.Send(append([]byte("end:"), state...), nil), map[string]error{"end fails": errBroken}[how])
		},
		Attempts: -1,
	}
	switch how {
	case "no end":
		k.End = nil
	case "end panics":
		k.End = func(context.Context, *work.Grant, []byte, *Out) error { panic("oh no") }
	}
	return k
}

// life is a run of a stage and what comes of it: see TestTheLifeOfAStage.
type life struct {
	r      work.Runner
	before func(*testing.T, *place)
	call   string
	err    error
	want   string // of the segments at the end, in order
	dead   string // the segments and the reason
	ends   string // what the error says
	least  time.Duration
}

func lives() map[string]life {
	edge, chain, turn := store.Shard{Edge: "edge/a/b"}, store.Shard{Edge: "chain/b"}, store.Shard{Edge: "end/b"}
	input := Input{Read: func(context.Context, *work.Grant, []byte, *Out) ([]byte, bool, error) {
		return nil, true, errBroken
	}}
	largeInput := Input{Read: func(_ context.Context, _ *work.Grant, _ []byte, out *Out) ([]byte, bool, error) {
		return []byte("next"), false, out.Send(make([]byte, 2000), nil)
	}}
	plain, states, failing, sealing := stageThat(""), keyedThat(""), stageThat("fails"), stageThat("seals")
	had := func(state []byte) func(*testing.T, *place) {
		return func(t *testing.T, p *place) { p.store(t, "begin/b/0", store.Put{Shard: chain, Data: state}) }
	}
	often := func(t *testing.T, p *place) {
		for range 3 * DefaultAttempts {
			all := must.Get(p.Receive(t.Context(), "f", store.Receive{Shard: edge, Limit: 1, Lease: lease}))(t)
			must.Succeed(t, must.Err(p.Receive(t.Context(), "f", store.Receive{Shard: edge, Return: all})))
		}
	}
	left := func(t *testing.T, p *place) { p.store(t, "close/end/b", store.Put{Shard: turn, Data: []byte("n")}) }
	taken := func(t *testing.T, p *place) {
		left(t, p)
		must.Succeed(t, must.Err(p.Receive(t.Context(), "f", store.Receive{Shard: turn, Limit: 1, Lease: time.Second})))
	}
	const all, ends, tooOften = "w x y z", "end:xyw end:z w x y z", "xy: it was delivered too often"
	return map[string]life{
		"no function":              {r: Stage{}, ends: "Do is missing"},
		"no function with a state": {r: Keyed{}, ends: "Do is missing"},
		"nothing to read":          {r: Input{}, ends: "Read is missing"},
		"input, too large":         {r: largeInput, ends: "too large"},
		"read fails":               {r: input, ends: "read part 0: broken"},
		"stage":                    {r: plain, want: all},
		"stage, no such flow":      {r: plain, call: "make f", err: store.ErrConflict, ends: "conflict"},
		"stage, no flow yet":       {r: plain, call: "make f", err: store.ErrUnavailable, want: all},
		"stage, not received":      {r: plain, call: "receive edge/a/b", err: io.EOF, want: all},
		"stage, flow is gone":      {r: plain, call: "receive edge/a/b", err: store.ErrNotFound, ends: "not found"},
		"stage, not committed":     {r: plain, call: "commit edge/a/b", err: io.EOF, want: all},
		"stage, not now":           {r: plain, call: "commit edge/a/b", err: store.ErrUnavailable, want: all},
		"stage, unknown":           {r: plain, call: "lost commit edge/a/b", err: store.ErrUnknown, want: all},
		"stage, not complete":      {r: plain, call: "commit seal/end/b/0", err: io.EOF, want: all},
		"stage, begins unknown":    {r: plain, call: "depth end/b", err: io.EOF, want: all},
		"stage, fails":             {r: failing, want: "w x z", dead: "y: broken", least: time.Second},
		"stage, does not rest": {r: failing, call: "keep edge/a/b", err: io.EOF, want: "w x z", dead: "y: broken",
			least: lease},
		"stage, too large in turn":  {r: stageThat("large in turn"), want: "w x z", dead: "y: the segments of its batch put"},
		"stage, too often":          {r: plain, before: often, want: "w z", dead: tooOften},
		"stage, too large":          {r: stageThat("large"), want: "w z", dead: "xy: too large", least: time.Second},
		"stage, stopped":            {r: stageThat("stops"), ends: "canceled"},
		"seal, not received":        {r: sealing, call: "receive end/b", err: io.EOF, want: all},
		"seal, not its turn":        {r: sealing, before: taken, want: all, least: time.Second},
		"seal, not taken over":      {r: sealing, before: left, call: "commit end/b", err: io.EOF, want: all},
		"seal fails":                {r: stageThat("seal fails"), ends: "seal the output: broken"},
		"keyed":                     {r: states, want: ends},
		"keyed, does not begin":     {r: states, call: "commit begin/b/0", err: io.EOF, want: ends},
		"keyed, state is there":     {r: states, before: had([]byte("\x01v")), want: "end:vxyw end:z w x y z"},
		"keyed, state is damaged":   {r: states, before: had([]byte("v")), ends: "read the state"},
		"keyed, state not received": {r: states, call: "receive chain/b", err: io.EOF, want: ends},
		"keyed, batch not received": {r: states, call: "receive edge/a/b", err: io.EOF, want: ends},
		"keyed, end not seen":       {r: states, call: "depth edge/a/b", err: io.EOF, want: ends},
		"keyed, not committed":      {r: states, call: "commit chain/b", err: io.EOF, want: ends},
		"keyed, unknown":            {r: states, call: "lost commit chain/b", err: store.ErrUnknown, want: ends},
		"keyed, fails":              {r: keyedThat("fails"), want: "end:wx end:z w x z", dead: "y: broken", least: time.Second},
		"keyed, too often":          {r: states, before: often, want: "end:w end:z w z", dead: tooOften},
		"keyed, too large":          {r: keyedThat("large"), want: "end:w end:z w z", dead: "xy: a batch puts out"},
		"keyed, too large together": {r: keyedThat("large together"), want: ends},
		"keyed, too large in turn": {r: keyedThat("large in turn"), want: "end:wx end:z w x z",
			dead: "y: the segments of its batch put out more"},
		"keyed, not sent":             {r: keyedThat("fails unseen"), want: "end:wx end:z w x z", dead: "y: broken", least: time.Second},
		"keyed, state is too large":   {r: keyedThat("large state"), want: "end:wx end:z w x z", dead: "y: the state of shard 0 would"},
		"keyed, stopped":              {r: keyedThat("stops"), ends: "canceled"},
		"keyed, no end":               {r: keyedThat("no end"), want: all},
		"keyed, end fails":            {r: keyedThat("end fails"), ends: "broken"},
		"keyed, end panics":           {r: keyedThat("end panics"), ends: "oh no"},
		"one input":                   {r: states, want: ends},
		"one input, not acknowledged": {r: states, call: "commit edge/a/b", err: io.EOF, want: ends},
		"one input, unknown":          {r: states, call: "lost commit chain/b", err: store.ErrUnknown, want: ends},
	}
}

// TestTheLifeOfAStage: x and y come in one message, w in another of the same shard, and z in another shard. Whatever
// the queue answers to one call, each counts once, the log says that it did not answer, and the task is complete soon:
// nothing waits for a lease.
func TestTheLifeOfAStage(t *testing.T) {
	for name, c := range lives() {
		t.Run(name, func(t *testing.T) {
			virtual.Test(t, func(t *testing.T) {
				edge := store.Shard{Edge: "edge/a/b"}
				p, other := newPlace(t), store.Shard{Edge: "edge/a/b", Number: 1}
				_, keyed := c.r.(Keyed)
				p.graph = flow.Graph{Tasks: []flow.Task{{Name: "a", Chains: 1}, {Name: "b", Keyed: keyed}, {Name: "c"}},
					Edges: []flow.Edge{{From: "a", To: "b", Shards: 2, By: "*"}, {From: "b", To: "c", Shards: 1}}}
				p.put(t, store.Put{Shard: edge, Segments: 1, Data: []byte("\x01w")})
				p.store(t, "z", store.Put{Shard: other, Segments: 1, Data: []byte("\x01z")},
					store.Put{Shard: other, Seal: true})
				if c.before != nil {
					c.before(t, p)
				}
				if !keyed && strings.HasSuffix(name, "too large") {
					p.most = 1000
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var log bytes.Buffer
				s := &script{place: p, call: c.call, err: c.err, stop: cancel}
				s.single = strings.HasPrefix(name, "one input")
				g := &work.Grant{Host: s, Job: "j", Task: "b", Member: "m"}
				g.Log = slog.New(slog.NewTextHandler(&log, nil))
				if _, ok := c.r.(Input); ok {
					g.Task = "a"
				}
				began := time.Now()
				err := c.r.Run(ctx, g)
				took, depths := time.Since(began), p.depths(t)
				if c.ends != "" {
					if err == nil || !strings.Contains(err.Error(), c.ends) {
						t.Errorf("the task ends with %v", err)
					}
					in := must.Get(p.Receive(t.Context(), "f", store.Receive{Shard: edge, Limit: 9, Lease: lease}))(t)
					if c.ends == "canceled" && (len(in) != 2 || depths["edge/b/c"].Stored > 0) {
						t.Errorf("a task that was stopped leaves %+v, and has committed %+v", in, depths)
					}
					return
				}
				if err != nil || took < c.least || took > c.least+lease/2 || s.call != "" || s.told == 0 ||
					strings.Contains(log.String(), "the flow waits for its store") != (c.err != nil) {
					t.Errorf("%v after %v; not called: %q; told of %d changes; log:\n%s", err, took, s.call, s.told, &log)
				}
				if once := errors.Is(c.err, store.ErrUnknown) || errors.Is(c.err, store.ErrUnavailable); once && s.called != 3 {
					t.Errorf("the function was called %d times", s.called)
				}
				if stage, ok := c.r.(Stage); ok && stage.Seal != nil && s.sealed != 1 {
					t.Errorf("sealed %d times", s.sealed)
				}
				var got, dead []string
				for _, m := range p.peek(t, "edge/b/c") {
					parts, err := SegmentsOf(m.Data, m.Segments)
					if err != nil || len(parts) != m.Segments {
						t.Errorf("%+v has %d segments, %v", m, len(parts), err)
					}
					got = append(got, strings.Fields(string(bytes.Join(parts, []byte(" "))))...)
				}
				for _, m := range p.peek(t, "dead/b") {
					l, err := ReadLetter(m.Data)
					parts, err2 := SegmentsOf(l.Message(), l.Segments)
					if must.Succeed(t, errors.Join(err, err2)); m.Segments != len(parts) || l.Edge != edge.Edge {
						t.Errorf("a letter of %d segments: %+v", m.Segments, l)
					}
					dead = append(dead, string(bytes.Join(parts, nil))+": "+l.Error)
				}
				slices.Sort(got)
				letters := strings.Join(dead, "; ")
				if strings.Join(got, " ") != c.want || len(dead) > 1 || (letters == "") != (c.dead == "") ||
					!strings.HasPrefix(letters, c.dead) {
					t.Errorf("%q, want %s; %s, want %s", got, c.want, letters, c.dead)
				}
				if in, d := depths["edge/a/b"], depths["chain/b"]; !in.Drained() || keyed && !d.Drained() ||
					!depths["edge/b/c"].Sealed || !depths["end/b"].Sealed {
					t.Errorf("the task is complete, and %+v", depths)
				}
			})
		})
	}
}

func (p *place) store(t *testing.T, name string, out ...store.Put) {
	t.Helper()
	must.Succeed(t, must.Err(p.Store.Commit(t.Context(), "f", store.Unit{Name: name, Outputs: out})))
}

func (p *place) peek(t *testing.T, edge string) []store.Message {
	t.Helper()
	return must.Get(p.Receive(t.Context(), "f", store.Receive{Shard: store.Shard{Edge: edge}, Peek: true, Limit: 99}))(t)
}

// depths are the depths of all edges, each over its shards.
func (p *place) depths(t *testing.T) map[string]store.Depth {
	t.Helper()
	sums := make(map[string]store.Depth)
	for _, d := range must.Get(p.Depth(t.Context(), "f"))(t) {
		sum, ok := sums[d.Shard.Edge]
		sum.Stored, sum.Pending, sum.Sealed = sum.Stored+d.Stored, sum.Pending+d.Pending, d.Sealed && (sum.Sealed || !ok)
		sums[d.Shard.Edge] = sum
	}
	return sums
}
