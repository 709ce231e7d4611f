package mutants

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	flaw "github.com/rota-run/rota/internal/proof/mutant"
)

// known tells with which arguments each flaw was found the last time: known.txt has a line for each, its name and the arguments.
func known() map[string]string {
	out := make(map[string]string)
	for line := range strings.Lines(text("known.txt")) {
		if name, args, ok := strings.Cut(strings.TrimSpace(line), " | "); ok && line[0] != '#' {
			out[name] = args
		}
	}
	return out
}

// Learn writes to a file, which is to be known.txt, where each flaw was found. The next run tries that first. Flaws that were not looked for, or that
// survived, keep what was known of them.
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
