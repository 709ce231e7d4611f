package schedule

type Reason struct{ Rule, Text, Try string }

func Explain(v View, c int) Reason { return Reason{} }
func Place(v View, b int64) Plan {
	var p Plan
	ms := v.Members()
	if len(ms) == 0 {
		return p
	}
	for c := range v.Classes() {
		i := 0
		v.Unplaced(c, func(s string) bool { p.Moves = append(p.Moves, Move{s, c, -1, i % len(ms)}); i++; return true })
	}
	return p
}
