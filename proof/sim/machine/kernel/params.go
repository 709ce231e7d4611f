package kernel

import (
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/protocol/member"
)

// Params are those of a start that all protocols share.
func Params(s machine.Start) member.Params {
	return member.Params{
		Member: s.Join.Member, Join: s.Join, SnapshotEvery: s.SnapshotEvery, Nonce: s.Nonce, TTL: s.TTL, Longest: s.Longest, Rho: s.Rho, Margin: s.Margin, Poll: s.Poll, Hold: s.Hold,
	}
}
