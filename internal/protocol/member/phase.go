package member

// Phase is how far this start of a member has come. No protocol has all of them.
type Phase uint8

// The phases, in this order.
const (
	PhaseReading    Phase = iota // folding the log up to the head seen at the start: nothing is said before
	PhaseNaming                  // making sure that no other live process has our name
	PhaseBeginning               // the heartbeat is being written for the first time
	PhaseJoining                 // asks to be taken in
	PhaseMember                  // is in
	PhaseConfirming              // its lease has run out: it must not go on before it was confirmed under a new heartbeat
	PhaseRemoved                 // found itself removed: waits for its work to stop, then joins again
	PhaseLeaving                 // stops its work, then says that it leaves
	PhaseGone                    // it has left gracefully
	PhaseHalted                  // over, because going on would be wrong
)
