package source_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/work"
)

func clusterID(id string) cluster.JobID { return cluster.JobID(id) }

// TestMaximaAreAllowed: a definition at a bound is taken, and one beyond it is refused with the bound.
func TestMaximaAreAllowed(t *testing.T) {
	t.Parallel()
	labels := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("k%d: v", i))
		}
		return "type: tail\ntags: {" + strings.Join(all, ", ") + "}\n"
	}
	keys := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"k%d"`, i))
		}
		return `{"type":"tail","spread":"partitioned","partitions":[` + strings.Join(all, ",") + `]}`
	}
	nested := func(n int) string {
		return "type: tail\nconfig:\n  a: " + strings.Repeat("[", n) + strings.Repeat("]", n) + "\n"
	}
	for name, c := range map[string]struct {
		path, good, bad, want string
	}{
		"period": {"a.yaml", "type: noop\nevery: 8784h\n", "type: noop\nevery: 8784h0m1s\n",
			"is too long (at most 8784h, a year)"},
		"shortest": {"a.yaml", "type: noop\nevery: 1s\nretry: {min: 1ms}\n",
			"type: noop\nevery: 1s\nretry: {min: 999us}\n", "is too short (at least 1ms)"},
		"tags": {"a.yaml", labels(cluster.MaxLabels), labels(cluster.MaxLabels + 1), "at most 64 are allowed"},
		"keys": {"a.json", keys(cluster.MaxPartitions), keys(cluster.MaxPartitions + 1),
			"between 1 and 100000 are allowed"},
		"retries": {"a.yaml", "type: noop\nevery: 1s\nretry: {min: 5m}\n",
			"type: noop\nevery: 1s\nretry: {min: 300001ms}\n", "it is above the maximum"},
		"tag": {"a.json", `{"type":"tail","tags":{"a":"` + strings.Repeat("x", cluster.MaxText) + `"}}`,
			`{"type":"tail","tags":{"a":"` + strings.Repeat("x", cluster.MaxText+1) + `"}}`, "tags.a: "},
		"catch up": {
			"a.yaml", "type: noop\nevery: 1m\ncatch_up: once\n", "type: noop\nevery: 59s\ncatch_up: once\n",
			"rounds are kept from a period of",
		},
	} {
		if _, _, err := source.Parse(c.path, []byte(c.good), types()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, _, err := source.Parse(c.path, []byte(c.bad), types()); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
	deepest := 0
	for n := 1; n < 200; n++ {
		if _, _, err := source.Parse("a.yaml", []byte(nested(n)), types()); err != nil {
			if !strings.Contains(err.Error(), "nested too deep") {
				t.Error(err)
			}
			break
		}
		deepest = n
	}
	if want := 49; deepest != want {
		t.Errorf("%d lists in each other are allowed, want %d", deepest, want)
	}
}

// TestAJobHasAtMostSoManyTasks: a thousand, and none is as wrong as one more.
func TestAJobHasAtMostSoManyTasks(t *testing.T) {
	t.Parallel()
	for n, good := range map[int]bool{0: false, 1: true, cluster.MaxTasks: true, cluster.MaxTasks + 1: false} {
		var tasks []string
		for i := range n {
			tasks = append(tasks, fmt.Sprintf(`{"name":"t%d","type":"noop"}`, i))
		}
		_, _, err := source.ParseJob("a.json", []byte(`{"tasks":[`+strings.Join(tasks, ",")+`]}`), types(), dotted)
		if good != (err == nil) || !good && !strings.Contains(err.Error(), fmt.Sprintf("tasks: %d tasks, between 1", n)) {
			t.Errorf("%d tasks: %v", n, err)
		}
	}
}

// TestALongMessageIsCut: so many characters of a fault go into the journal.
func TestALongMessageIsCut(t *testing.T) {
	t.Parallel()
	message := func(n int) string {
		all := types()
		all["long"] = work.Type{Name: "long", New: func(work.Definition) (work.Runner, error) {
			return nil, errors.New(strings.Repeat("ä", n))
		}}
		_, _, err := source.Parse("a.yaml", []byte("type: long\n"), all)
		var m *source.MalformedError
		if !errors.As(err, &m) {
			t.Fatal(err)
		}
		return m.Message
	}
	room := 501 - utf8.RuneCountInString(message(1))
	for n, want := range map[int]int{room: 500, room + 1: 501, 2000: 501} {
		got := message(n)
		if utf8.RuneCountInString(got) != want || strings.HasSuffix(got, "…") != (want > 500) {
			t.Errorf("of %d characters %d are left: %s", n, utf8.RuneCountInString(got), got)
		}
	}
}
