package laws

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// rule says what of this module the packages that match a pattern may import. "…" at the end of a pattern stands for anything below.
type rule struct {
	pattern string
	allowed []string
}

// rules is the direction of the house: cmd → node → {protocol, work, source, publish, journal} → store → pure packages. A package that no rule
// matches is a fault: say here where it stands.
var rules = []rule{
	{"schedule", nil},
	{"cluster", []string{"schedule"}},
	{"flow", []string{"cluster", "schedule"}},
	{"store", nil},
	{"store/storetest", []string{"store"}},
	{"store/memory", []string{"store"}},
	{"store/file", []string{"store"}},
	{"journal", []string{"store"}},
	{"publish", nil},
	{"protocol", []string{"cluster", "store"}},
	{"protocol/protocoltest", []string{"cluster", "store", "protocol"}},
	{"protocol/replica", []string{"cluster", "store", "protocol"}},
	{"work", []string{"cluster", "store", "protocol", "publish", "journal"}},
	{"work/worktest", []string{"cluster", "publish", "work", "store"}},
	{"tasks", []string{"cluster", "protocol", "publish", "work"}},
	{"source", []string{"cluster", "journal", "work"}},
	{"source/directory", []string{"cluster", "journal", "work", "source"}},
	{"node", []string{"cluster", "store", "protocol", "protocol/replica", "publish", "journal", "work", "source", "source/directory"}},
	{"api", []string{"cluster", "journal", "node", "protocol", "protocol/replica", "publish", "work", "store"}},
	{"sim", []string{"cluster", "schedule", "store", "protocol", "protocol/replica", "work", "journal"}},
	{"sim/…", []string{"cluster", "schedule", "store", "protocol", "protocol/replica", "work", "journal", "sim", "sim/…"}},
	{".", []string{"cluster", "node", "publish", "journal", "work", "store", "protocol", "protocol/replica"}},
	{"cmd/…", []string{"…"}},
	{"examples/…", []string{"…"}},
	{"internal/…", nil},
}

func matches(pattern, dir string) bool {
	if base, ok := strings.CutSuffix(pattern, "…"); ok {
		return strings.HasPrefix(dir+"/", base)
	}
	return pattern == dir
}

func ruleFor(dir string) (rule, bool) {
	for _, r := range rules {
		if matches(r.pattern, dir) {
			return r, true
		}
	}
	return rule{}, false
}

// Imports finds arrows that point the wrong way. Tests may import what they like.
func Imports(f *File) []string {
	if f.Test {
		return nil
	}
	r, ok := ruleFor(f.Dir)
	if !ok {
		return []string{fmt.Sprintf("%s: no rule says what package %s may import: add it to the table in internal/laws/imports.go", f.Path, f.Dir)}
	}
	var out []string
	for _, imp := range f.AST.Imports {
		name, err := strconv.Unquote(imp.Path.Value)
		if err != nil || name != Module && !strings.HasPrefix(name, Module+"/") {
			continue
		}
		dir := path.Clean(strings.TrimPrefix(strings.TrimPrefix(name, Module), "/"))
		if dir != f.Dir && !slices.ContainsFunc(r.allowed, func(p string) bool { return matches(p, dir) }) {
			out = append(out, fmt.Sprintf("%s: %s must not import %s", f.At(imp.Pos()), f.Dir, dir))
		}
	}
	return out
}
