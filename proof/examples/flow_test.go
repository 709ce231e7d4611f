package examples_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rota-run/rota/proof/process/processtest"
)

// slowFlow is flow.yaml with pauses, so that there is time for faults.
const slowFlow = `id: wordflow
tasks:
- {name: read, type: wordcount.lines, max: 1, config: {text: text, pause: 60ms}}
- {name: count, type: wordcount.words, from: {task: read, shards: 4}, config: {pause: 100ms}}
- {name: total, type: wordcount.total, from: {task: count, shards: 4, by: word}}
`

// A flow on three processes, two of which are killed while it runs, one after the other, and come back: each word counts once.
func TestFlowSurvivesKills(t *testing.T) {
	p := newTour(t)
	for i := range 15 {
		for _, f := range p.files("text", ".txt")[:3] {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			p.write(fmt.Sprintf("text/%02d-%s", i, filepath.Base(f)), string(text))
		}
	}
	p.member("m1")
	m2, m3 := p.member("m2"), p.member("m3")
	p.write("flow.yaml", slowFlow)
	if out, err := p.command("rota", "submit", "--store", "file:store", "flow.yaml").CombinedOutput(); err != nil {
		t.Fatalf("rota submit: %v\n%s", err, out)
	}
	written := func(n int) func() bool {
		return func() bool { return len(p.files("results/wordflow/flow", ".json")) >= n }
	}
	processtest.Await(t, "some counts are written", written(8))
	m2.Kill()
	processtest.Await(t, "more counts are written", written(30))
	m3.Kill()
	p.member("m2")
	processtest.Await(t, "the job is completed", func() bool { return p.job("wordflow").State == "completed" })
	var total struct{ Words int }
	p.read(filepath.Join(p.dir, "results/wordflow/total.json"), &total)
	if want := p.words(); total.Words != want {
		t.Errorf("the flow counted %d words, wc -w %d", total.Words, want)
	}
	t.Logf("%d words, segments lost 0, doubled 0", total.Words)
}
