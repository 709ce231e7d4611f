package sim

import (
	"fmt"
	"time"

	"github.com/rota-run/rota/cluster"
)

// holdTime is for how long grants are kept for a member that announced its restart.
const holdTime = time.Minute

// heldLife is one life of a member. The incarnation alone is not enough: one epoch joins several members under one
// index.
type heldLife struct {
	member      cluster.MemberID
	incarnation cluster.Incarnation
}

// paced: the runs of a type at once stay within its bound, and a run that failed is not begun again before its back-off
// is over.
func (o *oracle) paced(r *run) {
	n := 0
	for _, other := range r.p.runs {
		if other.kind == r.kind && !other.over {
			n++
		}
	}
	if most, ok := maxRuns[r.kind]; ok && n >= most {
		o.violate("max_runs", fmt.Sprintf("%s starts %s beside %d other runs of its type, of which there may be %d",
			r.p.name, r.partition, n, most))
	}
	last := o.part(r.partition).failed
	if last == nil || last.p != r.p || last.token != r.token || r.attempt == 0 {
		return
	}
	if pause := time.Duration(o.w.now - last.ended); pause < shortestBackOff(r.attempt) {
		o.violate("back-off", fmt.Sprintf("%s begins %s again %s after its failure number %d", r.p.name, r.partition,
			pause, r.attempt))
	}
}

// shortestBackOff is half of what the shortest definition asks for after so many failures, less what a clock may be
// wrong: chance takes away up to half.
func shortestBackOff(failures int64) time.Duration {
	d := shortestRetry
	for i := int64(1); i < failures && d < longestRetry; i++ {
		d *= 2
	}
	return min(d, longestRetry) / 2 * 9 / 10
}
