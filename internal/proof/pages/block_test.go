package pages

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const document = "# A page\n" +
	"`one` and `two words`, and\n" +
	"## From nothing\n<!-- not played: a reason -->\n" +
	"```\nrota a\n\nrota b\n```\n" +
	"```yaml\n# `not a span`\n## not a heading\nx: 1\n```\n" +
	"## Then `three`\n" +
	"```sh\nrota c\n```\n"

func TestBlocks(t *testing.T) {
	t.Parallel()
	got, err := Blocks(document)
	want := []Block{
		{"From nothing", "", 6, "rota a\n\nrota b\n", "not played: a reason"},
		{"From nothing", "yaml", 11, "# `not a span`\n## not a heading\nx: 1\n", ""},
		{"Then `three`", "sh", 17, "rota c\n", ""},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := Blocks("## A\n```\nrota run\n"); err == nil ||
		!strings.Contains(err.Error(), "line 2: the block is not closed") {
		t.Errorf("an open block: %v", err)
	}
	spans := Spans(document)
	if want := []Block{{Line: 2, Text: "one"}, {Line: 2, Text: "two words"},
		{Line: 15, Text: "three"}}; !slices.Equal(spans, want) {
		t.Errorf("spans %+v", spans)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"rota run --store file:x ./tasks # a member\n":               `3 ["rota" "run" "--store" "file:x" "./tasks"]`,
		"rota   tasks\t--all\n":                                      `3 ["rota" "tasks" "--all"]`,
		"# nothing\n\n":                                              ``,
		"a | b; c && d &\n":                                          `3 ["a"], 3 ["b"], 3 ["c"], 3 ["d"]`,
		"rota run --store \"nats://n1/r?user=a&token=b\" x#y\n":      `3 ["rota" "run" "--store" "nats://n1/r?user=a&token=b" "x#y"]`,
		"rota function call ping --arg '{\"text\": \"it is\"}' ''\n": `3 ["rota" "function" "call" "ping" "--arg" "{\"text\": \"it is\"}" ""]`,
		"docker run \\\n  -p 1:1 \\\n  nats\nrota x\n":               `3 ["docker" "run" "-p" "1:1" "nats"], 6 ["rota" "x"]`,
		"cat > c <<END\nlisten: 'open\nEND\nnats-server -c c\n":      `3 ["cat" ">" "c" "<<END"], 6 ["nats-server" "-c" "c"]`,
		"$ rota simulate <<'END'\nrun 1\nEND\nit's done\n$ rota x\n": `3 ["rota" "simulate" "<<END"], 7 ["rota" "x"]`,
		"  rota x\n": `3 ["rota" "x"]`,
	} {
		commands, err := Commands(Block{Line: 3, Text: text})
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		var got []string
		for _, c := range commands {
			got = append(got, fmt.Sprintf("%d %q", c.Line, c.Words))
		}
		if joined := strings.Join(got, ", "); joined != want {
			t.Errorf("%q: got %s, want %s", text, joined, want)
		}
	}
	if _, err := Commands(Block{Line: 3, Text: "a\nrota function call 'x\n"}); err == nil ||
		!strings.Contains(err.Error(), "line 4: a quote ' is not closed") {
		t.Errorf("an open quote: %v", err)
	}
}

func TestOption(t *testing.T) {
	t.Parallel()
	c := Command{1, []string{"rota", "run", "--ttl=2s", "--store", "memory:", "--json"}}
	for name, want := range map[string]string{"--store": "memory:", "--ttl": "2s", "--json": "", "--member": ""} {
		if got := c.Option(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
