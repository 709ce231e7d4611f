package mutants

import (
	"embed"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	flaw "github.com/rota-run/rota/internal/proof/mutant"
)

//go:embed *.txt
var lists embed.FS

func text(file string) string {
	b, err := lists.ReadFile(file)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(b)
}

// Protocols are those that have a table.
func Protocols() []string { return []string{"replica", "leader", "lease", "sync"} }

// listed are the flaws of a protocol with what their lists say of them. Replica's has those of the value, the
// supervisor and the guardian too.
func listed(protocol string) (flaws []flaw.Listed) {
	files := []string{protocol}
	if protocol == "replica" {
		files = []string{"cluster", "replica", "work", "guardian"}
	}
	for _, name := range files {
		of, err := flaw.ParseList(text(name+".txt"), "story")
		if err != nil {
			panic(fmt.Errorf("%s.txt: %w", name, err)) // a test reads all of them
		}
		flaws = append(flaws, of...)
	}
	return flaws
}

// Table are the flaws of a protocol.
func Table(protocol string) []flaw.Flaw { return flaw.Flaws(listed(protocol)) }

// all are the flaws of all protocols.
func all() (flaws []flaw.Listed) {
	for _, p := range Protocols() {
		flaws = append(flaws, listed(p)...)
	}
	return flaws
}

// stories are the tests of packages by which flaws are looked for. A story notices its flaw in any run, where seeds and
// walks of the checker meet it by luck, or only with much time: the right read must be old, or the right answer late. A
// flaw that its story does not notice has survived.
func stories() map[string]layer {
	out := make(map[string]layer)
	for _, f := range all() {
		if pkg, test, ok := strings.Cut(f.Notes["story"], " "); ok {
			out[f.Name] = layer{name: Story, args: []string{"-test.run", "^" + test + "$", "-test.timeout", "60s"},
				pkg: pkg}
		}
	}
	return out
}

// known tells with which arguments each flaw was found the last time: known.txt has a line for each, its name and the
// arguments.
func known() map[string]string {
	out := make(map[string]string)
	for line := range strings.Lines(text("known.txt")) {
		if name, args, ok := strings.Cut(strings.TrimSpace(line), " | "); ok && line[0] != '#' {
			out[name] = args
		}
	}
	return out
}

// Learn writes to a file, which is to be known.txt, where each flaw was found. The next run tries that first. Flaws
// that were not looked for, or that survived, keep what was known of them.
func Learn(file string, found []Found) error {
	at := known()
	for _, f := range found {
		if len(f.Args) > 0 {
			at[f.Flaw] = strings.Join(f.Args, " ")
		}
	}
	maps.DeleteFunc(at, func(name, _ string) bool {
		return !slices.ContainsFunc(all(), func(f flaw.Listed) bool { return f.Name == name })
	})
	var b strings.Builder
	for line := range strings.Lines(text("known.txt")) {
		if line[0] == '#' {
			b.WriteString(line)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(at)) {
		fmt.Fprintf(&b, "%s | %s\n", name, at[name])
	}
	return os.WriteFile(file, []byte(b.String()), 0o600)
}
