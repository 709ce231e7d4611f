package command

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

var update = flag.Bool("update", false, "rewrite docs/reference")

const generated = "<!-- Generated: go test -run TestReferences -update ./rotacmd/internal/command -->\n"

// TestReferences compares the pages of docs/reference with the code that they describe.
func TestReferences(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]string{
		"commands": commandsPage(), "configuration": configurationPage(), "errors": errorsPage(t),
		"http-api": httpPage(t), "metrics": metricsPage(t), "task-types": typesPage(t),
	} {
		path := "../../../docs/reference/" + name + ".md"
		if *update {
			must.Succeed(t, os.WriteFile(path, []byte(page), 0o600))
		}
		text := must.Get(os.ReadFile(path))(t)
		if string(text) != page {
			t.Errorf("%s is not up to date: go test -run TestReferences -update ./rotacmd/internal/command", path)
		}
	}
}

// cell is a text inside a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func metricsPage(t *testing.T) string {
	t.Helper()
	n := must.Get(node.New(node.Config{Member: "a", Protocol: replica.Protocol{}, Store: memory.New().Open()}))(t)
	rows := flowMetricRows(t)
	for _, m := range append(n.Metrics(), view.Metrics(n.Value())...) {
		label := m.Label
		var values []string
		for _, v := range m.Values {
			values = append(values, v.Label)
		}
		if label != "" && len(values) > 0 {
			label += ": " + strings.Join(values, ", ")
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |\n", m.Name, m.Kind, label, cell(m.Help)))
	}
	slices.Sort(rows)
	return "# Metrics\n" + generated + `
A member shows these at ` + "`/metrics`" + `. All but those of flows also have the label ` + "`rota_member`" + `.
Besides them there are ` + "`rota_build_info`" + ` and the metrics of the Go runtime and of the process.

| name | type | labels | help |
|---|---|---|---|
` + strings.Join(rows, "")
}

var described = regexp.MustCompile(`fqName: "([^"]*)", help: "([^"]*)".*variableLabels: \{([^}]*)\}`)

// flowMetricRows are the metrics of flows, as the collector describes them.
func flowMetricRows(t *testing.T) []string {
	t.Helper()
	descs := make(chan *prometheus.Desc, 100)
	api.NewFlowCollector(nil, nil).Describe(descs)
	close(descs)
	var rows []string
	for d := range descs {
		m := described.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("not understood: %s", d)
		}
		rows = append(rows, fmt.Sprintf("| `%s` | gauge | %s | %s |\n", m[1], strings.ReplaceAll(m[3], ",", ", "),
			cell(m[2])))
	}
	return rows
}

func configurationPage() string {
	var b strings.Builder
	b.WriteString("# Configuration\n" + generated + `
Each setting of ` + "`rota run`" + ` is a flag, a variable of the environment, or a line of ` + "`rota.yaml`" +
		`. A flag has
priority, then the environment, then the file. ` + "`rota config`" + ` prints the result and where each value
comes from. ` + "`--config FILE`" + ` names another file. In the environment, commas separate the elements of a list.

| flag | environment | rota.yaml | type | default | meaning |
|---|---|---|---|---|---|
`)
	newRun(env{}).Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && isSetting(f) {
			fmt.Fprintf(&b, "| `--%s` | `%s` | `%s` | %s | %s | %s |\n", f.Name, envName(f.Name), f.Name,
				f.Value.Type(), defaultOf(f), cell(f.Usage))
		}
	})
	return b.String()
}

func defaultOf(f *pflag.Flag) string {
	if f.DefValue == "" || f.DefValue == "[]" {
		return ""
	}
	return "`" + f.DefValue + "`"
}

func typesPage(t *testing.T) string {
	t.Helper()
	types := must.Get(env{}.typesOf(allowed{}, false))(t)
	var b strings.Builder
	b.WriteString("# Task types\n" + generated + `
The types that ` + "`rota`" + ` has. [Their configuration](../guide/task-types.md) is in the guide.

| type | runs | what it does |
|---|---|---|
`)
	for _, name := range slices.Sorted(maps.Keys(types)) {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, runsOf(types[name]), cell(types[name].Doc))
	}
	return b.String()
}

func runsOf(t work.Type) string {
	switch {
	case t.Periodic && t.DefaultEvery == 0:
		return "by `every` or `cron`, one of which is required"
	case t.Periodic:
		return "every " + t.DefaultEvery.String() + " unless `every` or `cron` is set"
	case t.Segments != nil:
		return "as a stage of a [flow](../guide/flows.md)"
	default:
		return "until it is done or stopped"
	}
}
