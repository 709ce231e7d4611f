//go:build !quick

package deploy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// rule is an alert.
type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func rules(t *testing.T) []rule {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []rule `json:"rules"`
		} `json:"groups"`
	}
	succeed(t, yaml.UnmarshalStrict([]byte(read(t, "prometheus/alerts.yaml")), &file))
	return file.Groups[0].Rules
}

// panels are the queries of the dashboard, with what Grafana puts into them.
func panels(t *testing.T) map[string][]string {
	t.Helper()
	var board struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
		Templating struct {
			List []struct {
				Name       string `json:"name"`
				Definition string `json:"definition"`
			} `json:"list"`
		} `json:"templating"`
	}
	succeed(t, json.Unmarshal([]byte(read(t, "grafana/rota.json")), &board))
	out := map[string][]string{}
	put := strings.NewReplacer("$__rate_interval", "5m", "$job", ".*")
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			out[p.Title] = append(out[p.Title], put.Replace(target.Expr))
		}
	}
	for _, v := range board.Templating.List {
		if metric, ok := strings.CutPrefix(v.Definition, "label_values("); ok {
			metric, _, _ = strings.Cut(metric, ",")
			out["variable "+v.Name] = []string{metric}
		}
	}
	return out
}

// cluster is two members with tasks and a flow whose job does not end, scraped twice.
func cluster(t *testing.T) *scrapes {
	t.Helper()
	dir := t.TempDir()
	succeed(t, os.Mkdir(filepath.Join(dir, "tasks"), 0o750))
	for name, text := range map[string]string{
		"tasks/a.yaml": "type: noop\nevery: 100ms\n", "tasks/b.yaml": "type: host\nevery: 100ms\n",
		"text": "one\ntwo\n",
		"flow.yaml": "id: flow\ntasks:\n- {name: read, type: files.lines, config: {paths: [" +
			filepath.Join(dir, "text") + "]}}\n- {name: keep, type: map, from: read, config: {expr: it}}\n- {name: beside, type: noop, max: 1, every: 1s}\n",
	} { // order-free: each by itself
		succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(rota, args...)
		cmd.Dir = dir
		return cmd
	}
	var addresses []string
	for _, name := range []string{"a", "b"} {
		address := "127.0.0.1:" + freePort(t)
		addresses = append(addresses, address)
		args := []string{"run", "--store", "file:store", "--member", name, "--slots", "4", "--publish", "file:" + name +
			".json", "--allow-tail", dir, "--listen", address, "tasks"}
		start(t, command(args...)).awaitSaid(t, "joined")
	}
	must(t, command("job", "submit", "--store", "file:store", "flow.yaml"))
	s := &scrapes{at: time.UnixMilli(1_700_000_000_000)}
	ready := func(samples []sample) bool {
		return has(samples, `rota_flow_segments{task="keep",state="in"}`, 1) && has(samples, `rota_rounds_total`, 1) &&
			has(samples, `rota_samples_total{outcome="sent"}`, 1)
	}
	await(t, "all has happened that metrics tell of", func() bool {
		s.samples = nil
		for _, a := range addresses {
			s.samples = append(s.samples, scrape(t, a)...)
		}
		return ready(s.samples)
	})
	return s
}

// scrape reads /metrics as Prometheus does: a label of the target that the answer has too gets a prefix.
func scrape(t *testing.T, address string) (out []sample) {
	t.Helper()
	r, err := http.Get("http://" + address + "/metrics")
	succeed(t, err)
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%d %v %s", r.StatusCode, err, b)
	}
	text := expfmt.NewTextParser(model.UTF8Validation)
	families, err := text.TextToMetricFamilies(strings.NewReader(string(b)))
	succeed(t, err)
	for _, f := range families { // order-free: the queries sort
		vector, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{Timestamp: 0}, f)
		succeed(t, err)
		for _, s := range vector {
			set := labels.NewBuilder(labels.EmptyLabels())
			for name, value := range s.Metric { // order-free: into a set
				if name == "job" || name == "instance" {
					name = "exported_" + name
				}
				set.Set(string(name), string(value))
			}
			set.Set("job", "rota").Set("instance", address)
			out = append(out, sample{set.Labels(), float64(s.Value)})
		}
	}
	return out
}

// TestQueries: each metric and label of each query is one that a member has, the dashboard shows something in each
// panel, no alert fires on a cluster that is well.
func TestQueries(t *testing.T) {
	t.Parallel()
	s := cluster(t)
	shown := 0
	for title, queries := range panels(t) { // order-free: each by itself
		for _, q := range queries {
			s.named(t, q)
			if n := len(s.ask(t, q)); n == 0 {
				t.Errorf("%s: %s shows nothing", title, q)
			}
			shown++
		}
	}
	alerts := rules(t)
	if shown < 30 || len(alerts) < 15 {
		t.Fatalf("%d queries and %d alerts", shown, len(alerts))
	}
	documented := read(t, "README.md")
	for _, r := range alerts {
		s.named(t, r.Expr)
		if got := s.ask(t, r.Expr); len(got) > 0 {
			t.Errorf("%s fires on a cluster that is well: %v", r.Alert, got)
		}
		if r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["try"] == "" ||
			!strings.Contains(documented, r.Alert) {
			t.Errorf("%s: it does not say how bad it is, what it is and what to try, or the README does not have it",
				r.Alert)
		}
		if got := s.changed(t, worse[r.Alert]).ask(t, r.Expr); len(got) == 0 {
			t.Errorf("%s does not fire when %v", r.Alert, worse[r.Alert])
		}
	}
}

// worse is, for each alert, what a member in trouble shows instead.
var worse = map[string][]change{ // read-only: a table
	"RotaNobodyRuns":           {{`rota_member_joined`, 0}},
	"RotaStoreAway":            {{`rota_store_up`, 0}},
	"RotaNotJoined":            {{`rota_member_joined{rota_member="a"}`, 0}},
	"RotaLeaseRunsOut":         {{`rota_member_lease_seconds{rota_member="a"}`, 1}},
	"RotaRemovedOften":         {{`rota_member_removals_total{rota_member="a"}`, 5}},
	"RotaTasksWait":            {{`rota_cluster_partitions{state="waiting"}`, 1}},
	"RotaTasksParked":          {{`rota_cluster_partitions{state="parked"}`, 1}},
	"RotaTasksFail":            {{`rota_partitions_failing{rota_member="b"}`, 1}},
	"RotaTaskFails":            {{`rota_task_failures{task="a"}`, 3}},
	"RotaDefinitionsMalformed": {{`rota_malformed_definitions{rota_member="a"}`, 1}},
	"RotaSamplesDropped":       {{`rota_samples_total{outcome="dropped",rota_member="a"}`, 7}},
	"RotaJournalLost":          {{`rota_journal_dropped_total{rota_member="b"}`, 7}},
	"RotaRoundsLate":           {{`rota_round_lateness_seconds_bucket{le="+Inf",rota_member="a"}`, 1e6}},
	"RotaLongGap":              {{`rota_gap_seconds_bucket{le="+Inf"}`, 1e6}},
	"RotaMembersDiffer":        {{`rota_log_index{rota_member="a"}`, 1e6}},
	"RotaVersionsDiffer":       nil, // see changed
	"RotaCallsWait":            {{`rota_calls_queued`, 1000}},
	"RotaSegmentsDead":         {{`rota_flow_segments{state="dead"}`, 1}},
}

var withoutBraces = regexp.MustCompile(`^[a-z_]+`)

// named finds each metric and each label of a query in what members show.
func (s *scrapes) named(t *testing.T, query string) {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		t.Errorf("%s: %v", query, err)
		return
	}
	known := map[string]bool{}
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			found := 0
			for _, x := range s.samples {
				if matches(x.labels, v.LabelMatchers) {
					found++
					x.labels.Range(func(l labels.Label) { known[l.Name] = true })
				}
			}
			if found == 0 {
				t.Errorf("%s: no member shows %s", query, v)
			}
		}
		return nil
	})
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if a, ok := n.(*parser.AggregateExpr); ok {
			for _, l := range a.Grouping {
				if !known[l] {
					t.Errorf("%s: no series has the label %s", query, l)
				}
			}
		}
		return nil
	})
	for _, m := range regexp.MustCompile(`\{\{ *\$labels\.([a-z_]+)`).FindAllStringSubmatch(query, -1) {
		if !known[m[1]] {
			t.Errorf("%s: no series has the label %s", query, m[1])
		}
	}
}

// TestWorse has a change for each alert, and none for others.
func TestWorse(t *testing.T) {
	t.Parallel()
	var names []string
	for _, r := range rules(t) {
		names = append(names, r.Alert)
		if _, ok := worse[r.Alert]; !ok {
			t.Errorf("nothing makes %s fire", r.Alert)
		}
	}
	for name, changes := range worse { // order-free: each by itself
		if !slices.Contains(names, name) {
			t.Errorf("there is no alert %s", name)
		}
		for _, c := range changes {
			if withoutBraces.FindString(c.of) == "" {
				t.Error(fmt.Sprint(c))
			}
		}
	}
}

// The runbook says what to do for each alert, and for no other.
func TestRunbookHasEachAlert(t *testing.T) {
	t.Parallel()
	var want, got []string
	for _, r := range rules(t) {
		want = append(want, r.Alert)
	}
	for line := range strings.Lines(read(t, "../docs/guide/runbook.md")) {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			got = append(got, strings.TrimSpace(name))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the runbook has\n%v\nand the alerts are\n%v", got, want)
	}
}
