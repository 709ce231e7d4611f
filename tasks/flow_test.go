package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/stories"
	"github.com/rota-run/rota/internal/work/stage"
	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/tasks"
	"github.com/rota-run/rota/work"
)

// lengths is a flow of built-in stages alone: lines, words, long words, into files.
const lengths = `id: lengths
tasks:
- {name: read, type: files.lines, parts: 2, config: {paths: ["DIR/text/*.txt", "DIR/text/1.*"]}}
- name: words
  type: map
  from: {task: read, shards: 2}
  config: {expr: 'it.split(" ").map(w, {"word": w.lowerAscii(), "size": w.size()})', each: true}
- {name: long, type: filter, from: words, config: {expr: it.size >= 4}}
- {name: write, type: files.write, from: {task: long, shards: 3, by: word}, config: {dir: DIR/out}}
`

func TestFlowOfBuiltinStages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must.Succeed(t, os.Mkdir(filepath.Join(dir, "text"), 0o750))
	var want []string
	for f := range 3 {
		var text strings.Builder
		for i := range 700 {
			fmt.Fprintf(&text, "Word%d-%d is x\r\n", f, i)
			want = append(want, fmt.Sprintf(`{"size":%d,"word":"word%d-%d"}`, len(fmt.Sprintf("word%d-%d", f, i)), f,
				i))
		}
		must.Succeed(t, os.WriteFile(filepath.Join(dir, "text", fmt.Sprint(f, ".txt")),
			[]byte(strings.TrimSuffix(text.String(), "\r\n")), 0o640)) // the last line has no end
	}
	table := tasks.Builtin(tasks.Options{TailAllow: []string{dir}, WriteAllow: []string{dir}})
	var types []rota.Type
	for _, typ := range table {
		types = append(types, typ)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // only a failure waits for it
	defer cancel()
	m := must.Get(rota.Join(ctx, rota.Config{Member: "m", Store: memory.New().Open(), Slots: 6, Types: types}))(t)
	defer m.Leave(ctx)
	must.Succeed(t, must.Err(m.SubmitFile(ctx, "lengths.yaml", []byte(strings.ReplaceAll(lengths, "DIR", dir)))))
	must.Succeed(t, m.Wait(ctx, "lengths"))
	if _, err := os.Stat(filepath.Join(dir, "out", "done")); err != nil {
		t.Error(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "out", "*.jsonl"))
	var got []string
	for _, f := range files {
		text := must.Get(os.ReadFile(f))(t)
		got = append(got, strings.Fields(string(text))...)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d segments were written, want %d; the first is %.60q", len(got), len(want), got[:min(1, len(got))])
	}
}

// What is wrong with an expression is said at submission, with its place.
func TestBadStages(t *testing.T) {
	t.Parallel()
	table := tasks.Builtin(tasks.Options{TailAllow: []string{"/tmp"}})
	for stage, said := range stories.Rows(t, "testdata/stages.txt") {
		job := "tasks:\n- {name: read, type: files.lines, config: {paths: [/tmp/a]}}\n- {name: x, " + stage + "}\n"
		_, _, err := source.ParseJob("job.yaml", []byte(job), table, nil)
		if err == nil || !said.In(err.Error()) || !strings.Contains(err.Error(), "job.yaml:3:") {
			t.Errorf("%s\ngot  %v\nwant %s", stage, err, said.Want)
		}
	}
}

// An expression that fails on a segment, or costs too much, makes a dead letter of it and leaves the others alone; see
// package internal/work/stage for the letters.
func TestExpressionsAreBounded(t *testing.T) {
	t.Parallel()
	table := tasks.Builtin(tasks.Options{})
	costly := `it.map(a, it.map(b, it.map(c, a + b + c)))`
	must.Succeed(t, must.Err(table["map"].New(definition(`{"expr":"`+costly+`"}`))))
	list := "[" + strings.Repeat("1,", 400) + "1]"
	err := applyTo(t, table["map"], costly, list)
	if err == nil || !strings.Contains(err.Error(), "cost") {
		t.Errorf("64 million steps: %v", err)
	}
	if err := applyTo(t, table["map"], "it.name", `{"nom":"x"}`); err == nil ||
		!strings.Contains(err.Error(), "no such key") {
		t.Errorf("a field that is not there: %v", err)
	}
	if err := applyTo(t, table["filter"], "it.ok", `{"ok":7}`); err == nil ||
		!strings.Contains(err.Error(), "needs true or false") {
		t.Errorf("a condition that is a number: %v", err)
	}
	if err := applyTo(t, table["filter"], "string(it.n) == \"9007199254740993\" ? false : it.no",
		`{"n":9007199254740993}`); err != nil {
		t.Errorf("a whole number that no float has: %v", err)
	}
	each := must.Get(table["map"].New(definition(`{"expr":"it","each":true}`)))(t)
	if err = each.(stage.Stage).Do(t.Context(), nil, [][]byte{[]byte("7")}, &stage.Out{}); err == nil ||
		!strings.Contains(err.Error(), "each needs a list") {
		t.Errorf("each of a number: %v", err)
	}
}

func definition(config string) work.Definition { return work.Definition{Config: []byte(config)} }

// applyTo applies an expression to one segment, outside of any flow.
func applyTo(t *testing.T, typ work.Type, expr, segment string) error {
	t.Helper()
	config := must.Get(json.Marshal(map[string]string{"expr": expr}))(t)
	r := must.Get(typ.New(definition(string(config))))(t)
	return r.(stage.Stage).Do(context.Background(), nil, [][]byte{[]byte(segment)}, &stage.Out{})
}
