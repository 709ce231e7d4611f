package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/work"
	"github.com/rota-run/rota/work/worktest"
)

// desk is a directory with the texts, in which one slot after another works.
type desk struct {
	t     *testing.T
	words words
	types map[string]rota.Type
	host  *worktest.Host
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "text"), os.DirFS("text")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	d := &desk{t, words{root}, map[string]rota.Type{}, worktest.NewHost()}
	for _, typ := range types(root) {
		d.types[typ.Name] = typ
	}
	return d
}

// run runs a task of the job on one slot, under a token.
func (d *desk) run(ctx context.Context, task, slot string, token cluster.Token, config string) error {
	g := worktest.NewGrantOf(d.t, d.host, cluster.PartitionID("wordcount/"+task+"/"+slot), token,
		work.Definition{Config: []byte(config)})
	g.Job, g.Task, g.Key = "wordcount", task, slot
	return worktest.RunContext(ctx, d.t, d.types["wordcount."+task], g)
}

// wanted is how many words the texts have.
func (d *desk) wanted() (words int) {
	d.t.Helper()
	files, err := filepath.Glob("text/*.txt")
	if err != nil {
		d.t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			d.t.Fatal(err)
		}
		words += len(bytes.Fields(text))
	}
	return words
}

const splitConfig = `{"text": "text", "lines": 5}`

// Two slots count, one after the other: the second finds all chunks counted. Each task may run again, under a newer
// token, and says the same.
func TestTasksCountAllWords(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for token := cluster.Token(1); token <= 2; token++ {
		for _, step := range []struct{ task, slot, config string }{
			{"split", "a:1", splitConfig}, {"count", "a:1", `{}`}, {"count", "b:1", `{}`}, {"sum", "a:2", `{}`},
		} {
			if err := d.run(t.Context(), step.task, step.slot, token, step.config); err != nil {
				t.Fatalf("%s: %v", step.task, err)
			}
		}
		var sum total
		if err := d.words.getJSON("results/wordcount/total.json", &sum); err != nil {
			t.Fatal(err)
		}
		if sum.Files != 3 || sum.Chunks < 10 || sum.Words != d.wanted() || sum.Words == 0 || len(sum.Top) != 10 ||
			sum.Top[0].Times < sum.Top[9].Times {
			t.Errorf("under token %d: %+v; the texts have %d words", token, sum, d.wanted())
		}
		if got := d.host.LastValue(t, "wordcount.words"); got != float64(sum.Words) {
			t.Errorf("the sample says %v words, the total %d", got, sum.Words)
		}
	}
}

// A run that is cut off leaves no half of a result; the next one continues.
func TestACutRunLeavesNothingHalf(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, task := range []string{"split", "count", "sum"} {
		config := `{"pause": "1h"}`
		if task == "split" {
			config = strings.Replace(splitConfig, "{", `{"pause": "1h", `, 1)
		}
		if err := d.run(over, task, "a:1", 1, config); !errors.Is(err, context.Canceled) {
			t.Fatalf("%s ended with %v", task, err)
		}
		result := map[string]string{"split": "chunks.json", "count": "counts/00001.json", "sum": "total.json"}[task]
		if there, err := d.words.exists("results/wordcount/" + result); err != nil || there {
			t.Errorf("%s was cut off, and %s is there: %t, %v", task, result, there, err)
		}
		if err := d.run(t.Context(), task, "b:1", 2, strings.Replace(config, "1h", "0s", 1)); err != nil {
			t.Fatalf("%s, once more: %v", task, err)
		}
	}
}

func TestSplitChecksItsConfig(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for i, config := range []string{`{}`, `{"text": "text"}`, `{"lines": 5}`, `{"text": "none", "lines": 5}`} {
		if err := d.run(t.Context(), "split", fmt.Sprint("a:", i), 1, config); err == nil {
			t.Errorf("%s was accepted", config)
		}
	}
}
