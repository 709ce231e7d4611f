package flow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestSealingScripts runs the races of sealing in testdata/sealing, as the coordinator document names them, on workers
// of one task; -rewrite writes the present behaviour. The queue of a script knows what is drained, sealed and complete;
// a crash at any place loses what a worker has in hand.
func TestSealingScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/sealing", func(t *testing.T, path string) {
		t.Parallel()
		sc := &sealing{workers: map[string]*State{}, now: map[string]Effect{}}
		datadriven.RunTest(t, path, sc.run)
	})
}

// sealing is a task with two shards of ingress and two of egress, its queue, and its workers.
type sealing struct {
	workers  map[string]*State
	now      map[string]Effect
	waiting  [2]int // messages of each shard of the ingress
	sealed   [2]bool
	out      [2]int // how often each shard of the egress was sealed
	complete bool
}

func (sc *sealing) run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "put": // put SHARD MESSAGES
		var shard, n int
		d.ScanArgs(t, "shard", &shard)
		d.ScanArgs(t, "messages", &n)
		sc.waiting[shard] += n
		return ""
	case "seal":
		sc.sealed = [2]bool{true, true}
		return ""
	case "start":
		return sc.each(d, func(name string) string {
			s, e := NewState(Params{In: 2, Out: 2, Sink: true})
			sc.workers[name], sc.now[name] = &s, e
			return sc.show(name)
		})
	case "crash":
		return sc.each(d, func(name string) string {
			delete(sc.workers, name)
			return name + " is gone"
		})
	case "step":
		return sc.each(d, func(name string) string { return sc.step(name, sc.call(sc.now[name])) })
	case "lose": // the call is done and its answer lost
		return sc.each(d, func(name string) string {
			sc.call(sc.now[name])
			return sc.step(name, Failed{})
		})
	case "fail":
		return sc.each(d, func(name string) string { return sc.step(name, Failed{}) })
	case "queue":
		return fmt.Sprintf("waiting %v, egress sealed %v times, complete %v", sc.waiting, sc.out, sc.complete)
	}
	t.Fatalf("no command is %q", d.Cmd)
	return ""
}

func (sc *sealing) each(d *datadriven.TestData, do func(name string) string) string {
	var b strings.Builder
	for _, a := range d.CmdArgs {
		fmt.Fprintln(&b, do(a.Key))
	}
	return b.String()
}

func (sc *sealing) step(name string, e Event) string {
	next, effect := Step(*sc.workers[name], e)
	sc.workers[name], sc.now[name] = &next, effect
	return sc.show(name)
}

func (sc *sealing) show(name string) string {
	e := sc.now[name]
	what := [...]string{"look", "receive", "work", "pause", "seal", "close", "complete", "end"}[e.Do]
	return fmt.Sprintf("%s is %s: %s %d", name, sc.workers[name].Phase(), what, e.Shard)
}

// call is what the queue does.
func (sc *sealing) call(e Effect) Event {
	switch e.Do {
	case Look:
		drained := []bool{sc.sealed[0] && sc.waiting[0] == 0, sc.sealed[1] && sc.waiting[1] == 0}
		return Looked{Complete: sc.complete, Drained: drained}
	case Receive:
		return Received{Some: sc.waiting[e.Shard] > 0}
	case Work:
		sc.waiting[e.Shard]--
	case Seal:
		sc.out[e.Shard] = 1 // once, however often it is done
	case Complete:
		sc.complete = true
	}
	return Done{}
}
