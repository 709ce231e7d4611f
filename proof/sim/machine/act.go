package machine

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// Act is what an effect asks for: a [Call], or one of the others below. The set is closed.
type Act interface{ act() }

type (
	// Call is a call of the store. The zero value is a read.
	Call struct {
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
	// Wake asks to be woken at an instant; it replaces the one before.
	Wake struct{ At protocol.Instant }
	// Assign tells the supervisor what to run.
	Assign struct{ protocol.Assignment }
	// Applied tells which value the member holds now.
	Applied struct{ Value cluster.Value }
	// Reply answers a proposal. Without results nothing is said about what was done.
	Reply struct {
		ID      uint64
		Results []cluster.Result
	}
	// Left says that the member has left gracefully.
	Left struct{}
	// Halt says that going on would be wrong.
	Halt struct{ Err error }
	// Told is for listeners alone.
	Told struct{}
)

func (Call) act()    {}
func (Wake) act()    {}
func (Assign) act()  {}
func (Applied) act() {}
func (Reply) act()   {}
func (Left) act()    {}
func (Halt) act()    {}
func (Told) act()    {}
