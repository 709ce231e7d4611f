package machine

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
)

// Call is a call of the store. The zero value is a read.
type Call struct {
	Write bool // it changes the store, and may be done twice, or late
	Renew bool // it is the member's sign of life
	Begin bool // it begins a new one, in several requests
	List  bool
	Part  bool             // it is one of several writes that belong together
	Reads bool             // it reads, in several requests, and does nothing else
	Takes bool             // it takes an index, under which a later call writes
	Keep  bool             // it saves a snapshot
	Group bool             // it goes to the group, which may let it wait for others
	Looks bool             // it looks whether somebody lives
	Whom  cluster.MemberID // does it look at
}

// Shared is the call that an effect asks for which all protocols have.
func Shared(e Effect) (Call, bool) {
	switch e := e.(type) {
	case member.ReadLog, member.ReadSnapshot, member.CheckLog:
		return Call{}, true
	case member.Append:
		return Call{Write: true}, true
	case member.Renew:
		return Call{Renew: true, Begin: e.Create}, true
	case member.SaveSnapshot:
		return Call{Keep: true}, true
	}
	return Call{}, false
}

// Writes is for faults that meet what changes the store.
func Writes(c Call) bool { return c.Write || c.Renew }

// Any is for faults that meet every call.
func Any(Call) bool { return true }
