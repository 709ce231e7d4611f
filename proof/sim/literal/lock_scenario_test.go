package literal

// LockScenario is what may happen to two nodes that share a lock document.
type LockScenario struct {
	Name, Title, Flaw string

	skew     [2]int8 // how far each node's wall clock is ahead
	renewals bool    // holders renew
	unlocks  bool    // each holder may unlock, once
	blind    bool    // by the document's rules unlock and renewal don't ask for a version
	acts     bool    // holders change a resource
	late     int8    // how many ticks writes and effects may be late, in all
}

// LockScenarios are those in which the document's lock breaks.
func LockScenarios() []LockScenario {
	return []LockScenario{
		{
			Name: "clock-ahead", Title: "One clock is ahead",
			Flaw: "“Current time is past expire timestamp” compares a time that one machine wrote with the clock of another.",
			skew: [2]int8{0, leaseTicks},
		},
		{
			Name: "pause", Title: "A holder looks at its clock, and is stopped before it acts",
			Flaw: "“Lock holder must not perform any operation once the expire time has arrived” can't be kept by a process that does not run. " +
				"Only the resource can refuse, and the document gives it nothing to compare.",
			acts: true, late: leaseTicks + 1,
		},
		{
			Name: "late-unlock", Title: "An unlock arrives late",
			Flaw:    "“Unlocking by setting expire time to 0”, without a version, frees whoever holds the lock by then.",
			unlocks: true, blind: true, late: leaseTicks + 1,
		},
		{
			Name: "late-renewal", Title: "A renewal arrives late",
			Flaw:     "A renewal that is written without a version takes the lock back from the next holder, who does not hear of it.",
			renewals: true, blind: true, late: leaseTicks + 1,
		},
	}
}
