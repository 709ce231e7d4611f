package examples_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/process/processtest"
	"github.com/rota-run/rota/proof/server/kafka"
	"github.com/rota-run/rota/proof/server/nats"
)

// slowFlow is flow.yaml with small pieces and pauses, so that there is time for faults.
const slowFlow = `id: wordflow
tasks:
- {name: read, type: wordcount.pieces, max: 1, config: {text: text, bytes: 500, pause: 40ms}}
- {name: count, type: wordcount.words, from: {task: read, shards: 4}, config: {pause: 100ms}}
- {name: total, type: wordcount.total, from: {task: count, shards: 4, by: word}}
`

// flowTour is a tour with some more texts and the flow.
func flowTour(t *testing.T) *tour {
	p := newTour(t)
	for i := range 15 {
		for _, f := range p.files("text", ".txt")[:3] {
			text := must.Get(os.ReadFile(f))(t)
			p.write(fmt.Sprintf("text/%02d-%s", i, filepath.Base(f)), string(text))
		}
	}
	p.write("flow.yaml", slowFlow)
	return p
}

func (p *tour) submitFlow() {
	p.t.Helper()
	if out, err := p.command("rota", "job", "submit", "--store", p.storeURL(),
		"flow.yaml").CombinedOutput(); err != nil {
		p.t.Fatalf("rota job submit: %v\n%s", err, out)
	}
}

// written waits until some counts are written.
func (p *tour) written(n int) {
	p.t.Helper()
	processtest.Await(p.t, fmt.Sprintf("%d counts are written", n),
		func() bool { return len(p.files("results/wordflow/flow", ".json")) >= n })
}

// counted waits for the end of the job, and compares its total with the texts.
func (p *tour) counted() {
	p.t.Helper()
	processtest.Await(p.t, "the job is completed", func() bool { return p.job("wordflow").State == "completed" })
	var total struct{ Words, Segments, Lost, Doubled int }
	p.read(filepath.Join(p.dir, "results/wordflow/total.json"), &total)
	if want := p.words(); total.Words != want {
		p.t.Errorf("the flow counted %d words, wc -w %d", total.Words, want)
	}
	if total.Lost+total.Doubled > 0 || total.Segments < 50 {
		p.t.Errorf("%d segments, %d lost, %d doubled", total.Segments, total.Lost, total.Doubled)
	}
	p.t.Logf("%d words in %d segments, segments lost %d, doubled %d", total.Words, total.Segments, total.Lost,
		total.Doubled)
}

// A flow on three processes, two of which are killed while it runs, one after the other, and come back: each word
// counts once.
func TestFlowSurvivesKills(t *testing.T) {
	p := flowTour(t)
	p.member("m1")
	m2, m3 := p.member("m2"), p.member("m3")
	p.submitFlow()
	p.written(8)
	m2.Kill()
	p.written(60)
	m3.Kill()
	p.member("m2")
	p.counted()
}

// The same on servers, three processes, one of which is killed.
func TestFlowOnServers(t *testing.T) {
	for _, c := range []struct {
		name  string
		start func(t *testing.T) string
	}{
		{"NATS", func(t *testing.T) string { return natsNode(t) }},
		{"three NATS nodes", func(t *testing.T) string { return natsNodes(t) }},
		{"Kafka", func(t *testing.T) string {
			c, err := kafka.Start(starting(t), kafka.Options{})
			kafka.Require(t, err)
			t.Cleanup(c.Stop)
			return c.URL("/wordcount")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := flowTour(t)
			p.store = c.start(t)
			p.member("m1")
			p.member("m2")
			m3 := p.member("m3")
			p.submitFlow()
			p.written(20)
			m3.Kill()
			p.counted()
		})
	}
}

// starting bounds the start of servers.
func starting(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// natsNode is a node, and natsNodes are three.
func natsNode(t *testing.T) string {
	s := must.Get(nats.Spawn(starting(t), nats.Options{Dir: folder(t)}))(t)
	t.Cleanup(s.Stop)
	return natsURL(s.URLs())
}

func natsNodes(t *testing.T) string {
	p := must.Get(nats.Spawn(starting(t), nats.Options{Dir: folder(t), Nodes: 3, NoSync: true}))(t)
	t.Cleanup(p.Stop)
	return natsURL(p.URLs())
}

func natsURL(nodes []string) string {
	return "nats://" + strings.ReplaceAll(strings.Join(nodes, ","), "nats://", "") + "/wordcount"
}

// folder is a folder for a server, which may still write to it for a moment after its end.
func folder(t *testing.T) string {
	dir := must.Get(os.MkdirTemp("", "rota-nats-"))(t)
	t.Cleanup(func() {
		processtest.Await(t, "the folder of a server is gone", func() bool { return os.RemoveAll(dir) == nil })
	})
	return dir
}
