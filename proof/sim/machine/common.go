package machine

import (
	"log/slog"
	"reflect"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/beat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Steps makes a protocol's step function neutral.
func Steps[S State](step func(S, Event) []Effect) func(State, Event) []Effect {
	return func(s State, ev Event) []Effect { return step(s.(S), ev) }
}

// Copy is a state that stays as it is when steps change the other.
func Copy(s State) State {
	c := reflect.New(reflect.TypeOf(s).Elem())
	c.Elem().Set(reflect.ValueOf(s).Elem())
	return c.Interface().(State)
}

// Stamped is an event with the instant at which it reached its member: its field Now.
func Stamped(ev Event, now protocol.Instant) Event {
	was := reflect.ValueOf(ev)
	if was.Kind() != reflect.Struct || was.NumField() == 0 || was.Type().Field(0).Name != "Now" {
		return ev
	}
	next := reflect.New(was.Type()).Elem()
	next.Set(was)
	next.Field(0).SetInt(int64(now))
	return next.Interface().(Event)
}

// Owner is the member that a heartbeat below a prefix belongs to.
func Owner(key, prefix string) cluster.MemberID {
	id, _, _ := strings.Cut(strings.TrimPrefix(key, prefix), "/")
	return cluster.MemberID(id)
}

// StrayHeartbeat is a heartbeat of nobody, "" for none.
func StrayHeartbeat(v *cluster.Value, docs []store.Doc) string {
	owned := map[string]bool{}
	for m := range v.Members() {
		owned[m.Heartbeat] = true
	}
	for _, d := range docs {
		if strings.HasPrefix(d.Key, protocol.HeartbeatPrefix) && !owned[d.Key] {
			return d.Key
		}
	}
	return ""
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

// Start is one start of one member.
type Start struct {
	member.Params
	Sessions bool           // a document may go with its process
	Guard    protocol.Guard // nil for none
	Now      func() protocol.Instant
	Wall     func() time.Time
}

// BeatCaller is what all protocols' callers are made of.
func BeatCaller(s Start, st Store) shell.BeatCaller {
	return shell.BeatCaller{Writer: beat.Writer{
		Member: s.Member, Store: st, TTL: s.TTL, NoSessions: !s.Sessions, Guard: s.Guard,
		Logger: slog.New(slog.DiscardHandler), Now: s.Now, Wall: s.Wall,
	}}
}

// LogCaller is the same with the log.
func LogCaller(s Start, st Store) *shell.LogCaller {
	return &shell.LogCaller{BeatCaller: BeatCaller(s, st), Log: st}
}
