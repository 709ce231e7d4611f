package command

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

var update = flag.Bool("update", false, "rewrite docs/reference")

const generated = "<!-- Generated: go test ./rotacmd/internal/command -run TestReferences -update -->\n"

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
			t.Errorf("%s is not up to date: go test ./rotacmd/internal/command -run TestReferences -update", path)
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

// commandsPage has each command that has no others below it, with what --help says of it.
func commandsPage() string {
	var b strings.Builder
	b.WriteString("# Commands\n" + generated + `
What each command prints with ` + "`--help`" + `. Flags of ` + "`rota run`" + ` and ` + "`rota config`" + ` are in
[configuration](configuration.md).
Every command has ` + "`--help`" + `; those with settings have ` + "`--config FILE`" + `, and those that read or change a cluster ` +
		"`--store`" + `.
`)
	root := newRoot(env{getenv: func(string) string { return "" }})
	for _, c := range everyCommand(root) {
		if c == root || c.Hidden || c.HasSubCommands() {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n%s\n", c.CommandPath(), cell(upper(c.Short))+".")
		example := strings.ReplaceAll("  "+strings.TrimSpace(c.Example), "\n  ", "\n")[2:]
		fmt.Fprintf(&b, "```text\nUsage: %s\n", c.UseLine())
		if c.Long != "" {
			fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(c.Long))
		}
		fmt.Fprintf(&b, "```\nExample:\n```\n%s\n```\n%s", example, flagRows(c))
	}
	return b.String()
}

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// flagRows are the flags that not every command has.
func flagRows(c *cobra.Command) string {
	var b strings.Builder
	settings := c.CommandPath() == "rota run" || c.CommandPath() == "rota config"
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || slices.Contains([]string{"help", "config", "store", "version"}, f.Name) || settings &&
			isSetting(f) {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(&b, "- `%s` (%s): %s\n", name, f.Value.Type(), f.Usage)
	})
	return b.String()
}

// openAPI is as much of an OpenAPI document as the page shows.
type openAPI struct {
	Paths map[string]map[string]struct {
		Summary    string `json:"summary"`
		Parameters []struct {
			Name     string `json:"name"`
			Required bool   `json:"required"`
		} `json:"parameters"`
		Responses map[string]struct {
			Description string `json:"description"`
		} `json:"responses"`
	} `json:"paths"`
}

// httpPage is the document that a member with all its parts serves at /v1/openapi.json.
func httpPage(t *testing.T) string {
	t.Helper()
	h := api.Handler(api.Config{
		Value: func() cluster.Value { return cluster.Value{} }, Past: &view.Past{}, Metrics: http.NotFoundHandler(),
		Token: "x", Actions: &api.Actions{},
	})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/v1/openapi.json", nil)
	r.Header.Set("Authorization", "Bearer x")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var d openAPI
	must.Succeed(t, json.Unmarshal(w.Body.Bytes(), &d))
	var b strings.Builder
	b.WriteString("# HTTP API\n" + generated + `
A member serves this list at ` + "`/v1/openapi.json`" + `, with the schemas of all answers (OpenAPI 3.1).
[Operations](../guide/operations.md#api-and-metrics) has the rules for addresses, tokens and pages of lists.

| request | parameters | what it does |
|---|---|---|
`)
	codes := map[string]string{}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, verb := range slices.Sorted(maps.Keys(d.Paths[path])) {
			op := d.Paths[path][verb]
			var params []string
			for _, p := range op.Parameters {
				name := "`" + p.Name + "`"
				if p.Required {
					name += " (required)"
				}
				params = append(params, name)
			}
			fmt.Fprintf(&b, "| `%s %s` | %s | %s |\n", strings.ToUpper(verb), path, strings.Join(params, ", "),
				cell(op.Summary))
			for code, r := range op.Responses { // order-free: into a map, of the shortest text
				if old := codes[code]; code != "200" && (old == "" || shorter(r.Description, old)) {
					codes[code] = r.Description
				}
			}
		}
	}
	b.WriteString("\n| code | for example |\n|---|---|\n")
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		fmt.Fprintf(&b, "| %s | %s |\n", code, cell(codes[code]))
	}
	return b.String()
}

func shorter(a, b string) bool { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) < 0 }

var isErrorName = regexp.MustCompile(`^(Err|Cause)[A-Z]`)

// errorsPage has the errors that package rota exports, with their comments.
func errorsPage(t *testing.T) string {
	t.Helper()
	files := must.Get(filepath.Glob("../../../*.go"))(t)
	var rows, types []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		must.Succeed(t, err)
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					if name := s.Names[0].Name; g.Tok == token.VAR && isErrorName.MatchString(name) {
						rows = append(rows, errorRow(t, name, s.Comment, s.Doc, g.Doc))
					}
				case *ast.TypeSpec:
					if strings.HasSuffix(s.Name.Name, "Error") && s.Name.IsExported() {
						types = append(types, errorRow(t, "*"+s.Name.Name, s.Comment, s.Doc, g.Doc))
					}
				}
			}
		}
	}
	slices.Sort(rows)
	slices.Sort(types)
	return "# Errors\n" + generated + `
The errors of package ` + "`rota`" + ` that a program can act on. Compare with ` + "`errors.Is`" + `; find a type with
` + "`errors.AsType`" + `. Names with Cause are what ` + "`context.Cause`" + ` returns in a task or a function.

A command prints its error as one line, and a line with ` + "`try:`" + `. These texts are written where they
occur, with the names and values at hand, so they have no table. Errors at the start of a member are on
the page of each [store](../stores.md).

| name | meaning |
|---|---|
` + strings.Join(append(rows, types...), "")
}

// errorRow takes the nearest comment.
func errorRow(t *testing.T, name string, comments ...*ast.CommentGroup) string {
	t.Helper()
	for _, c := range comments {
		if text := strings.Join(strings.Fields(c.Text()), " "); text != "" {
			text = strings.TrimPrefix(strings.TrimPrefix(text, strings.TrimPrefix(name, "*")), " is")
			return fmt.Sprintf("| `%s` | %s |\n", name, cell(strings.TrimSpace(strings.TrimSuffix(text, "."))))
		}
	}
	t.Errorf("%s has no comment", name)
	return ""
}
