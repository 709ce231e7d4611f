package demo

// Worst joins the outcomes of several demonstrations: counts are added, gaps are the longest, and it is ok if all were.
func Worst(reports []Report) Report {
	w := Report{OK: len(reports) > 0}
	for _, r := range reports {
		w.Members, w.Tasks = r.Members, r.Tasks
		w.Moves += r.Moves
		w.FewestMoves += r.FewestMoves
		w.CrashGapMS = max(w.CrashGapMS, r.CrashGapMS)
		w.SuspendGapMS = max(w.SuspendGapMS, r.SuspendGapMS)
		w.SuspendSilentMS = max(w.SuspendSilentMS, r.SuspendSilentMS)
		w.LeaveGapMS = max(w.LeaveGapMS, r.LeaveGapMS)
		w.Overlaps += r.Overlaps
		w.Lost += r.Lost
		w.OK = w.OK && r.OK
	}
	return w
}
