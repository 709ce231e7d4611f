package node

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store/memory"
)

// keyedSources is threeSources with a b that keeps all that comes to it, of two edges, and puts it out at the end.
func keyedSources() cluster.JobSpec {
	spec := threeSources()
	edge := func(from string) string { return fmt.Sprintf(`{"task":%q,"shards":2,"by":"*"}`, from) }
	b := &spec.Tasks[4]
	b.Type, b.Definition = "keep", []byte(`{"from":[`+edge("a")+","+edge("s3")+`],"keyed":true,"retry":{"min_ms":10,"max_ms":100}}`)
	return spec
}

// A stage that keeps state, a queue that fails, a member that dies while it works: every segment is in a state once, whether the queue commits several
// inputs as one fact or not.
func TestKeyedUnderFaults(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				f := &flowRun{t: t, server: memory.New(), got: &arrivals{seen: map[string]int{}}, chance: rand.New(rand.NewPCG(seed, 3)), single: seed%2 == 1, spec: keyedSources()}
				for i := range 3 {
					f.member(fmt.Sprint("m", i), 4)
				}
				f.submit("count")
				time.Sleep(time.Duration(f.chance.IntN(4000)) * time.Millisecond) // waits: in virtual time, to die at any instant
				f.nodes[1].kill(f.stores[1])
				f.member("m3", 4)
				f.ended("count")
			})
		})
	}
}
