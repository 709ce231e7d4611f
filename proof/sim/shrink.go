package sim

import "time"

// Shrink leaves out faults of a run that broke a promise, as long as the same promise stays broken, in at most so many runs. It returns the
// config of the shortest run found, with its script, and that run's result.
func Shrink(c Config, runs int) (Config, Result) {
	c.Trace = nil
	best := Run(c)
	if best.Violation == nil {
		return c, best
	}
	if !c.Scripted {
		c.Script, c.Scripted = drawPlan(withDefaults(c)).script, true
	}
	try := func(next Config) bool {
		if runs--; runs < 0 {
			return false
		}
		r := Run(next)
		if r.Violation == nil || r.Violation.Promise != best.Violation.Promise {
			return false
		}
		c, best = next, r
		return true
	}
	if shorter := time.Duration(best.Violation.At) + time.Second; shorter < withDefaults(c).Duration {
		next := c
		next.Duration = shorter
		try(next)
	}
	for size := max(1, len(c.Script)/2); runs > 0; size /= 2 {
		for at := 0; at < len(c.Script) && runs > 0; {
			next := c
			next.Script = append(append([]Fault(nil), c.Script[:at]...), c.Script[min(len(c.Script), at+size):]...)
			if !try(next) {
				at += size
			}
		}
		if size == 1 {
			break
		}
	}
	return c, best
}
