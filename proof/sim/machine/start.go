package machine

import (
	"log/slog"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/beat"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/protocol"
)

// Start is one start of one member.
type Start struct {
	Join          cluster.PrepareJoin // name, slots and labels
	Nonce         string              // of this start
	TTL           time.Duration
	Longest       time.Duration // that it may state while its renewals are slow; 0: always TTL
	Rho           int64         // thousandths
	Margin, Hold  time.Duration
	Poll          time.Duration
	SnapshotEvery uint64
	// Hints: the store tells of changes. Sessions: a document may go with its process. Expire: also with a process that is silent.
	Hints, Sessions, Expire bool
	Guard                   protocol.Guard // nil for none
	Now                     func() protocol.Instant
	Wall                    func() time.Time
}

// BeatCaller is what all protocols' callers are made of.
func BeatCaller(s Start, st Store) shell.BeatCaller {
	return shell.BeatCaller{Writer: beat.Writer{
		Member: s.Join.Member, Store: st, TTL: s.TTL, NoSessions: !s.Sessions, Guard: s.Guard, Logger: slog.New(slog.DiscardHandler), Now: s.Now, Wall: s.Wall,
	}}
}

// LogCaller is the same with the log.
func LogCaller(s Start, st Store) *shell.LogCaller {
	return &shell.LogCaller{BeatCaller: BeatCaller(s, st), Log: st}
}

// Params are those of a start that all protocols share.
func Params(s Start) member.Params {
	return member.Params{
		Member: s.Join.Member, Join: s.Join, SnapshotEvery: s.SnapshotEvery, Nonce: s.Nonce, Poll: s.Poll, Hold: s.Hold,
		Timing: heartbeat.Timing{TTL: s.TTL, Longest: s.Longest, Rho: s.Rho, Margin: s.Margin},
		Hints:  member.Hints{Log: s.Hints, Docs: s.Hints, Ends: s.Hints && s.Sessions, Vanish: s.Hints && s.Sessions && s.Expire},
	}
}
