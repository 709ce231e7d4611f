package machine

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Steps makes a protocol's step function neutral.
func Steps[E, F any, S State](step func(S, E) []F) func(State, Event) []Effect {
	return func(s State, ev Event) []Effect {
		fx := step(s.(S), ev.(E))
		out := make([]Effect, len(fx))
		for i, e := range fx {
			out[i] = e
		}
		return out
	}
}

// Copy is a state that stays as it is when steps change the other.
func Copy(s State) State {
	c := reflect.New(reflect.TypeOf(s).Elem())
	c.Elem().Set(reflect.ValueOf(s).Elem())
	return c.Interface().(State)
}

// calls is a caller of a protocol, made neutral.
type calls[F, E any] struct{ of typedCaller[F, E] }

type typedCaller[F, E any] interface {
	Call(ctx context.Context, e F) E
	Timeout(e F) time.Duration
	Close(ctx context.Context)
}

// Calls makes a protocol's caller neutral. An event that is nil stays nil.
func Calls[F, E any](c typedCaller[F, E]) Caller { return calls[F, E]{c} }

func (c calls[F, E]) Call(ctx context.Context, e Effect) Event { return c.of.Call(ctx, e.(F)) }
func (c calls[F, E]) Timeout(e Effect) time.Duration           { return c.of.Timeout(e.(F)) }
func (c calls[F, E]) Close(ctx context.Context)                { c.of.Close(ctx) }

// Stamped is an event with the instant at which it reached its member: its field Now.
func Stamped(ev Event, now protocol.Instant) Event {
	was := reflect.ValueOf(ev)
	if was.Kind() != reflect.Struct || was.NumField() == 0 || was.Type().Field(0).Name != "Now" {
		return ev
	}
	next := reflect.New(was.Type()).Elem()
	next.Set(was)
	next.Field(0).SetInt(int64(now))
	return next.Interface()
}

// FoldLog is the truth of protocols whose log's entries make the value.
func FoldLog(before cluster.Value, r store.Record) (Change, error) {
	e, ok, err := before.Decode(cluster.Index(r.Index), r.Data)
	switch {
	case err != nil:
		return Change{After: before}, err
	case !ok:
		return Change{After: before.Skip(cluster.Index(r.Index), r.Data)}, nil
	}
	after, done := before.Apply(e)
	return Change{After: after, Entry: &e, Done: done}, nil
}

// Writes is for faults that meet what changes the store.
func Writes(c Call) bool { return c.Write || c.Renew }

// Any is for faults that meet every call.
func Any(Call) bool { return true }

// Commands is what commands say, for a trace.
func Commands(cs []cluster.Command) string {
	out := make([]string, len(cs))
	for i, c := range cs {
		out[i] = strings.TrimPrefix(fmt.Sprintf("%T%+v", c, c), "cluster.")
	}
	return strings.Join(out, " ")
}
