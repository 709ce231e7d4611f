package source_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/work"
)

func TestBoundsOfAFile(t *testing.T) {
	t.Parallel()
	many := `{"type":"noop","spread":"partitioned","partitions":[` + numbered(50_000, `"object-%d"`) + `]}`
	for name, c := range map[string]struct{ path, in, want string }{
		"too many bytes": {"a.yaml", "type: noop\n#" + strings.Repeat("x", source.MaxFile),
			"a.yaml: 1048588 bytes; a definition has at most 1048576"},
		"too many lines": {"a.yaml", "type: noop\n" + strings.Repeat("\n", 5000),
			"a.yaml:5001:1: 5001 lines; a definition in YAML has at most 5000 (write it as JSON)"},
		"a long list":       {"a.yaml", "type: noop\nconfig:\n  a:\n" + strings.Repeat("  - x\n", 99), ""},
		"many flat lists":   {"a.yaml", "type: noop\nconfig:\n  a:\n" + strings.Repeat("  - []\n", 99), ""},
		"enough lines":      {"a.yaml", "type: noop\n" + strings.Repeat("\n", 4999), ""},
		"many keys in JSON": {"a.json", many, ""},
		"too big a config": {"a.json", `{"type":"noop","config":{"a":"` + strings.Repeat("x", cluster.MaxDefinition) +
			`"}}`, "a.json:1:16: config: 262152 bytes, at most 262144 are allowed"},
		"too big with tags": {"a.json", `{"type":"noop","tags":{"a":"b"},"config":{"a":"` +
			strings.Repeat("x", cluster.MaxDefinition-10) + `"}}`, "at most 262144 are allowed"},
		"deep stack in YAML": {"a.yaml", strings.Repeat("[", source.MaxFile), "a.yaml:1:51: it is nested too deep"},
		"deep stack in JSON": {"a.JSON", strings.Repeat("[", source.MaxFile),
			"a.JSON:1:10001: it is not JSON: invalid character '[' exceeded max depth"},
		"a lone return": {"a.yaml", "type: noop\revery: 1s", "a.yaml:1:11: a control character, U+000D"},
		"a long name":   {strings.Repeat("x", 129) + ".yaml", "type: noop", "129 characters, at most 128"},
		"a long duration": {"a.yaml", "type: noop\nevery: " + strings.Repeat("1s", 500_000),
			"a.yaml:2:8: every: 1000000 bytes are no duration"},
		"an endless period": {"a.yaml", "type: noop\nevery: 999999999h", "a.yaml:2:8: every: "},
		"no period":         {"a.yaml", "type: noop\nevery: 1us", "at least 1ms"},
		"many digits": {"a.json", `{"type":"noop","config":{"a":` + strings.Repeat("1", 1_000_000) + `}}`,
			"a.json:1:30: a number of 1000000 characters, at most 400 are allowed"},
		"many digits, YAML": {"a.yaml", "type: noop\nweight: " + strings.Repeat("1", 1_000_000),
			"a.yaml:2:9: a number of 1000000 characters, at most 400 are allowed"},
		"a long fraction": {"a.json", `{"type":"noop","config":{"a":0.` + strings.Repeat("1", 399) + `}}`,
			"a number of 401 characters"},
		"a delete":          {"a.yaml", "type: noop\x7f", "a.yaml:1:11: a control character, U+007F"},
		"blanks":            {"a.yaml", " \n\t\n", "a.yaml: it is empty"},
		"as many as may be": {"a.json", `{"type":"noop","config":{"a":` + strings.Repeat("1", 400) + `}}`, ""},
		"bidi in a tag":     {"a.yaml", "type: noop\ntags: {a: \"x\u202ey\"}", "control or invisible character"},
		"bidi in a fault":   {"a.yaml", "type: noop\n\u202eevry: 1s", "a.yaml:2:1: "},
		"many faults":       {"a.json", `{"type":"noop",` + numbered(60_000, `"x%d":1`) + `}`, `a.json:1:16: unknown`},
		"a long word":       {"a.yaml", strings.Repeat("x", 1000) + ": 1", "…"},
	} {
		_, _, err := source.Parse(c.path, []byte(c.in), types())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %.300v, want %q", name, err, c.want)
		}
		if err != nil && (len(err.Error()) > 3000 || strings.ContainsAny(err.Error(), "\n\u202e")) {
			t.Errorf("%s: the error has %d bytes, several lines, or hidden characters: %.300s", name, len(err.Error()),
				err)
		}
	}
}

func TestRecordIsWhatTheJournalShows(t *testing.T) {
	t.Parallel()
	_, _, err := source.Parse("tasks/gpu.yaml", []byte("# 1\n# 2\n# 3\n# 4\n# 5\ntype: noop\r\nevry: 10s\r\n"), types())
	var m *source.MalformedError
	if !errors.As(err, &m) {
		t.Fatalf("got %v", err)
	}
	r := m.Record()
	if r.Kind != journal.Malformed || r.Partition != "gpu" || r.Storage.Line != 7 || r.Storage.Column != 1 {
		t.Errorf("got %+v", r)
	}
	want := `malformed-task-error  tasks/gpu.yaml:7:1  unknown field "evry" (did you mean "every"?)
           6 │ type: noop
           7 │ evry: 10s
             │ ^`
	if got := r.String(); !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant it to end with\n%s", got, want)
	}
}

// value draws a JSON value whose texts YAML could take for something else.
func value(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 4
		if depth > 0 {
			kinds = 6
		}
		words := rapid.SampledFrom([]string{"", " ", "a", "yes", "null", "~", "1", "1.0", "0x1", "-", "- a", "a: b",
			"#", "a #b", "*a", "&a", "!t", "%", "@", "'", `"`, "\t", "é\u2028", "\ufffd", "010", "line\nline", "<<", "?", ": ", "|",
			".inf", "env:TOKEN"})
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return words.Draw(t, "text")
		case 1:
			return rapid.Int64().Draw(t, "whole")
		case 2:
			return rapid.SampledFrom([]any{true, false, nil}).Draw(t, "constant")
		case 3:
			return rapid.Float64Range(-1e15, 1e15).Draw(t, "number") + 0 // the canonical form of minus zero is zero
		case 4:
			return rapid.SliceOfN(value(depth-1), 0, 3).Draw(t, "list")
		}
		return rapid.MapOfN(words, value(depth-1), 0, 3).Draw(t, "mapping")
	})
}

// TestFormatsAgree: what is written as JSON means the same when it is read as YAML, and in any order and layout.
func TestFormatsAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		config := rapid.MapOfN(rapid.StringMatching(`[a-z]{1,3}`), value(3), 0, 4).Draw(rt, "config")
		doc := map[string]any{"type": "noop", "config": config, "tags": map[string]string{"b": "1", "a": "2"}}
		plain, err := json.Marshal(doc)
		must.Succeed(rt, err)
		var wide bytes.Buffer
		must.Succeed(rt, json.Indent(&wide, plain, "", "  "))
		_, first, err := source.Parse("a.json", plain, types())
		if err != nil {
			rt.Fatalf("%s: %v", plain, err)
		}
		for path, in := range map[string][]byte{"a.json": wide.Bytes(), "a.yaml": plain, "a.yml": wide.Bytes()} {
			_, again, err := source.Parse(path, in, types())
			if err != nil {
				rt.Fatalf("%s as %s: %v", in, path, err)
			}
			if got, want := describe("a", again), describe("a", first); got != want {
				rt.Fatalf("%s as %s\ngot  %s\nwant %s", in, path, got, want)
			}
		}
	})
}

// TestDefinitionHasTheValue: the canonical config is the value that was written.
func TestDefinitionHasTheValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		config := rapid.MapOfN(rapid.StringMatching(`[a-z]{1,3}`), value(3), 1, 4).Draw(rt, "config")
		want, err := json.Marshal(config)
		must.Succeed(rt, err)
		_, spec, err := source.Parse("a.json", []byte(`{"type":"noop","config":`+string(want)+`}`), types())
		must.Succeed(rt, err)
		var got struct{ Config any }
		var wanted any
		must.Succeed(rt, errors.Join(json.Unmarshal(spec.Tasks[0].Definition, &got), json.Unmarshal(want, &wanted)))
		if a, b := fmt.Sprintf("%#v", got.Config), fmt.Sprintf("%#v", wanted); a != b {
			rt.Fatalf("got %s, want %s", a, b)
		}
	})
}

func fuzz(f *testing.F, path string, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	table := types()
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return // the bounds have a test of their own
		}
		_, spec, err := source.Parse(path, data, table)
		if err == nil {
			_, again, err := source.Parse(path, data, table)
			if err != nil || describe("a", again) != describe("a", spec) || !json.Valid(spec.Tasks[0].Definition) {
				t.Fatalf("read again it is %v, %v", again, err)
			}
			return
		}
		checkFault(t, data, err)
	})
}

// checkFault: an error is one short line about a place that the file has.
func checkFault(t *testing.T, data []byte, err error) {
	var m *source.MalformedError
	if !errors.As(err, &m) {
		t.Fatalf("not a MalformedError: %v", err)
	}
	lines := strings.Split(string(bytes.TrimPrefix(data, []byte("\ufeff"))), "\n")
	if m.Line < 0 || m.Line > len(lines) || m.Line > 0 &&
		(m.Column < 1 || m.Column > utf8.RuneCountInString(lines[m.Line-1])+1) {
		t.Fatalf("the file has no place %d:%d: %v", m.Line, m.Column, err)
	}
	if m.Message == "" || strings.ContainsAny(m.Error(), "\n\r\x00") || !utf8.ValidString(m.Error()) {
		t.Fatalf("not one line of text: %q", m.Error())
	}
	if m.Line > 0 && !strings.HasSuffix(m.Lines[len(m.Lines)-1], "^") {
		t.Fatalf("no caret in %q", m.Lines)
	}
}

func FuzzYAML(f *testing.F) {
	fuzz(f, "a.yaml", "type: noop\nevery: 10s\n", "type: check\nconfig:\n  url: https://a\n  expect: {status: [200]}\n",
		"a: &a [*a]\n<<: *a",
		"? a\n: b", "---\n---\n", "type: |\n  noop\n", "{type: noop, tags: {a: 'b', c: \"d\"}}", "\ttype", "- - -",
		"%YAML 1.2\n---\n...", "type: noop\ncron: TZ=\n", "a: 0o7\nb: .nan\nc: 1e3\n")
}

func FuzzJSON(f *testing.F) {
	fuzz(f, "a.json", `{"type":"noop","every":"10s"}`,
		`{"type":"check","config":{"url":"https://a","expect":{"status":[200]}}}`, `{"a":1,"a":2}`,
		`{"type":"noop","config":{"x":1e999}}`, `[`, `{"type":"noop"} x`, `{"type":"\ud800"}`, "\ufeff{}",
		`{"weight":-0,"type":"noop"}`)
}

// numbered is a list of a form with the numbers from 0.
func numbered(n int, form string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(form, i)
	}
	return strings.Join(all, ",")
}

// TestMaximaAreAllowed: a definition at a bound is taken, and one beyond it is refused with the bound.
func TestMaximaAreAllowed(t *testing.T) {
	t.Parallel()
	labels := func(n int) string { return "type: tail\ntags: {" + numbered(n, "k%d: v") + "}\n" }
	keys := func(n int) string {
		return `{"type":"tail","spread":"partitioned","partitions":[` + numbered(n, `"k%d"`) + `]}`
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
		"name of a tag": {"a.json", `{"type":"tail","tags":{"` + strings.Repeat("x", 128) + `":"a"}}`,
			`{"type":"tail","tags":{"` + strings.Repeat("x", 129) + `":"a"}}`, "longer than 128 bytes"},
		"catch up": {
			"a.yaml", "type: noop\nevery: 1m\ncatch_up: once\n", "type: noop\nevery: 59s\ncatch_up: once\n",
			"rounds are kept from a period of",
		},
		"nested": {"a.yaml", nested(49), nested(50), "nested too deep"},
	} {
		if _, _, err := source.Parse(c.path, []byte(c.good), types()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, _, err := source.Parse(c.path, []byte(c.bad), types()); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

// TestAJobHasAtMostSoManyTasks: a thousand, and none is as wrong as one more.
func TestAJobHasAtMostSoManyTasks(t *testing.T) {
	t.Parallel()
	for n, good := range map[int]bool{0: false, 1: true, cluster.MaxTasks: true, cluster.MaxTasks + 1: false} {
		tasks := numbered(n, `{"name":"t%d","type":"noop"}`)
		_, _, err := source.ParseJob("a.json", []byte(`{"tasks":[`+tasks+`]}`), types(), dotted)
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
