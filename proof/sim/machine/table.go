package machine

import "slices"

// Phases are those of a protocol in which the kinds of the standard table can hit a member.
type Phases struct {
	All     []string // in which it calls the store
	Writes  []string // in which it changes the store
	Renews  []string // in which a late answer to its heartbeat matters
	Looks   []string // in which it judges others by their heartbeats
	Begins  []string // in which it begins a heartbeat
	Told    []string // in which the store tells it of changes
	Lists   []string // in which it lists documents
	Leaves  []string // in which it can be asked to leave
	Doubled []string // in which another process of its name can start
	Runs    []string // in which what it runs can fail
	Stops   []string // in which what it runs is stopped
	Parts   []string // in which it writes several documents that belong together
}

// Table is the standard table of faults. A protocol to which one cannot happen has no phases for it.
func Table(p Phases) []Fault {
	whole := []string{Cluster}
	all := []Fault{
		{SlowCall, 8, p.All, Any},
		{LostRequest, 8, p.All, Any},
		{LostReply, 8, p.All, Any},
		{Duplicate, 6, p.Writes, Writes},
		{LateWrite, 5, p.Writes, Writes},
		{FailedCall, 6, p.All, Any},
		{LastAnswer, 3, p.Renews, func(c Call) bool { return c.Renew }},
		{LateLook, 3, p.Looks, func(c Call) bool { return c.Looks }},
		{HalfCall, 3, p.Begins, func(c Call) bool { return c.Begin }},
		{Cut, 3, p.All, nil},
		{CutOut, 2, p.All, nil},
		{CutIn, 2, p.All, nil},
		{WatchLost, 4, p.Told, nil},
		{WatchLate, 4, p.Told, nil},
		{PauseShort, 5, p.All, nil},
		{PauseLong, 2, p.All, nil},
		{Crash, 3, p.All, nil},
		{CrashBetween, 3, p.All, nil},
		{ClockRate, 4, p.All, nil},
		{WallJump, 3, p.All, nil},
		{StaleList, 4, p.Lists, func(c Call) bool { return c.List }},
		{LeaveInOrder, 2, p.Leaves, nil},
		{SecondStart, 1, p.Doubled, nil},
		{SlowWork, 3, p.Stops, nil},
		{RunnerFails, 5, p.Runs, nil},
		{RunnerLingers, 4, p.Stops, nil},
		{CrashAfterWrite, 4, p.Parts, func(c Call) bool { return c.Part }},
		{StoreAway, 1, whole, nil},
		{DiskFull, 1, whole, nil},
		{Truncation, 2, whole, nil},
		{Garbage, 2, whole, nil},
		{Foreign, 3, whole, nil},
		{Drain, 1, whole, nil},
		{Hold, 1, whole, nil},
		{KillJob, 1, whole, nil},
		{UpdateJob, 1, whole, nil},
		{Split, 2, whole, nil},
		{AllAtOnce, 1, whole, nil},
		// What follows is not drawn one by one: it comes of other faults, or ends a run.
		{SessionExpiry, 0, whole, nil},
		{TailLost, 0, whole, nil},
		{NewerEntry, 0, whole, nil},
		{RestartSame, 0, whole, nil},
		{RestartOther, 0, whole, nil},
		{Reorder, 0, whole, nil},
	}
	return slices.DeleteFunc(all, func(f Fault) bool { return len(f.Phases) == 0 })
}

// Guardians are the faults of the guardians of members in these phases. They are drawn where members have guardians.
func Guardians(phases []string) []Fault {
	whole := []string{Cluster}
	return []Fault{
		{GuardianLate, 0, phases, nil},
		{GuardianDoubled, 0, phases, nil},
		{GuardianLost, 0, phases, nil},
		{GuardianCutOff, 0, phases, nil},
		{GuardianEnds, 0, whole, nil},
		{GuardianEarlier, 0, whole, nil},
	}
}

// Without is a table without some kinds.
func Without(table []Fault, kinds ...Kind) []Fault {
	return slices.DeleteFunc(table, func(f Fault) bool { return slices.Contains(kinds, f.Kind) })
}
