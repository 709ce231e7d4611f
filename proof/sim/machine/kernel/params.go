package kernel

import (
	"log/slog"

	"github.com/rota-run/rota/internal/protocol/beat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/proof/sim/machine"
)

// BeatCaller is what all protocols' callers are made of.
func BeatCaller(s machine.Start, st machine.Store) shell.BeatCaller {
	return shell.BeatCaller{Writer: beat.Writer{
		Member: s.Join.Member, Store: st, TTL: s.TTL, NoSessions: !s.Sessions, Guard: s.Guard, Logger: slog.New(slog.DiscardHandler), Now: s.Now, Wall: s.Wall,
	}}
}

// LogCaller is the same with the log.
func LogCaller(s machine.Start, st machine.Store) *shell.LogCaller {
	return &shell.LogCaller{BeatCaller: BeatCaller(s, st), Log: st}
}

// Params are those of a start that all protocols share.
func Params(s machine.Start) member.Params {
	return member.Params{
		Member: s.Join.Member, Join: s.Join, SnapshotEvery: s.SnapshotEvery, Nonce: s.Nonce, TTL: s.TTL, Longest: s.Longest, Rho: s.Rho, Margin: s.Margin, Poll: s.Poll, Hold: s.Hold,
	}
}
