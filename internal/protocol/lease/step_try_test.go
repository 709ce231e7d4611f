package lease

import (
	"fmt"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
)

// TestIndicesAreTakenTogether: a request of many submissions writes the settings once, not once for each, and no index
// is given twice. One that another submission of its job has overtaken is not used.
func TestIndicesAreTakenTogether(t *testing.T) {
	t.Parallel()
	const jobs = 100
	p := newPaper(t)
	s := &step{State: &State{Core: coreIn(member.PhaseMember, member.Params{Member: "m", Nonce: "n"}), known: &facts{}}}
	id := func(i int) cluster.JobID { return cluster.JobID(fmt.Sprintf("j%03d", i)) }
	var submit []cluster.Command
	for i := range jobs {
		submit = append(submit,
			cluster.SubmitJob{Job: id(i), Spec: cluster.JobSpec{Version: "1", Tasks: []cluster.TaskSpec{{Type: "noop"}}}})
	}
	s.Take(member.Proposed{ID: 1, Commands: submit})
	const late = jobs - 1
	settings, tried, overtaken := 0, 0, cluster.Index(0)
	for rounds := 0; len(s.queue) > 0; rounds++ {
		if s.At = s.At.Add(s.Poll); rounds > 3*jobs {
			t.Fatalf("%d of %d are left", s.queue[0].open, jobs)
		}
		s.advanceTries()
		for _, x := range s.tries { // all have read before one has written
			s.tryFetched(Fetched{ID: x.id, Docs: p.get(x.ask...)})
		}
		for _, x := range append([]try{}, s.tries...) {
			if !x.busy || x.put.Key == "" {
				continue
			}
			ok, outcome := p.put(x.put), outbox.Refused
			if ok {
				outcome = outbox.Done
			}
			if x.put.Key == keyConfig {
				tried++
				settings += map[bool]int{true: 1}[ok]
			}
			s.tryWritten(Written{ID: x.id, Outcome: outcome, Version: p.docs[x.put.Key].Version})
		}
		if settings == 1 && overtaken == 0 {
			p.submit(id(late), cluster.TaskSpec{})
			p.must(cluster.KillJob{Job: id(late)}, "")
			overtaken = learn(p.all()).jobs[0].doc.Submitted
		}
	}
	if settings != 2 || tried > maxTries+1 {
		t.Errorf("the settings were written %d times in %d attempts, want twice, one of them for what was overtaken",
			settings, tried)
	}
	given := make(map[cluster.Index]bool)
	for _, j := range learn(p.all()).jobs {
		if given[j.doc.Submitted] = true; j.job.ID == id(late) && j.doc.Submitted <= overtaken {
			t.Errorf("%s has index %d, and was submitted under %d meanwhile", j.job.ID, j.doc.Submitted, overtaken)
		}
	}
	if len(given) != jobs {
		t.Errorf("%d jobs have %d indices", jobs, len(given))
	}
}
