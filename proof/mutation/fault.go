package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rota-run/rota/internal/proof/mutant"
)

// fault is one place of a file and what is planted there.
type fault struct {
	file         string // from the root of the module, with slashes
	line, column int
	first, last  int    // lines of its function
	old, new     string // the operator
	text         string // of the line, with the fault
	flaw         mutant.Flaw
}

func (f fault) String() string {
	return fmt.Sprintf("%s:%d:%d: %s   (was %s)", f.file, f.line, f.column, f.text, f.old)
}

// key names a fault in equivalent.txt. It has no line number, so that it lasts.
func (f fault) key() string { return f.file + ": " + f.text }

// place is a mutant of the report of gremlins.
type place struct {
	Type         string
	Line, Column int
}

// find returns the faults of a package that can be planted, in the order of files and lines.
func find(ctx context.Context, gremlins, root, pkg, dir string) ([]fault, error) {
	out := filepath.Join(dir, "report.json")
	cmd := exec.CommandContext(ctx, gremlins, "unleash", pkg, "--dry-run", "--exclude-files", "/", "--workers", "1",
		"--output", out) //nolint:gosec // the tool
	cmd.Dir = root
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("find faults: %w: %s", err, said)
	}
	b, err := os.ReadFile(out) //nolint:gosec // the report
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // it has found none
	}
	var report struct {
		Files []struct {
			Name   string  `json:"file_name"`
			Places []place `json:"mutations"`
		}
	}
	if err := errors.Join(err, json.Unmarshal(b, &report)); err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	built, err := list(ctx, root, pkg, "{{range .GoFiles}}{{.}} {{end}}{{range .CgoFiles}}{{.}} {{end}}")
	if err != nil {
		return nil, err
	}
	var faults []fault
	for _, f := range report.Files {
		if !slices.Contains(built, f.Name) {
			continue // of another platform
		}
		of, err := read(root, filepath.ToSlash(filepath.Join(pkg, f.Name)), f.Places)
		if err != nil {
			return nil, err
		}
		faults = append(faults, of...)
	}
	slices.SortFunc(faults, func(a, b fault) int { return strings.Compare(a.flaw.Name, b.flaw.Name) })
	return slices.CompactFunc(faults, func(a, b fault) bool { return a.flaw.Name == b.flaw.Name }), nil
}

func list(ctx context.Context, root, pkg, format string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-f", format, pkg) //nolint:gosec // a package
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", pkg, err)
	}
	return strings.Fields(string(out)), nil
}

// read makes faults of the places of a file that are in functions.
func read(root, file string, places []place) ([]fault, error) {
	b, err := os.ReadFile(filepath.Join(root, file)) //nolint:gosec // a source file
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, file, b, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	text, lines := string(b), files.File(tree.Pos())
	var out []fault
	for _, p := range places {
		at := int(lines.LineStart(p.Line)) - lines.Base() + p.Column - 1
		in := function(tree, lines.Pos(at))
		if in == nil {
			continue
		}
		was, is := turn(p.Type, text[at:])
		if was == "" {
			return nil, fmt.Errorf("%s:%d:%d: no operator for %s", file, p.Line, p.Column, p.Type)
		}
		changed := text[:at] + is + text[at+len(was):]
		from, to := strings.LastIndexByte(text[:at], '\n')+1, at+strings.IndexByte(changed[at:], '\n')
		f := fault{file: file, line: p.Line, column: p.Column, old: was, new: is,
			text: strings.TrimSpace(changed[from:to])}
		f.first, f.last = files.Position(in.Pos()).Line, files.Position(in.End()).Line
		f.flaw = mutant.New(fmt.Sprintf("%s:%05d:%03d %s", file, p.Line, p.Column, is), file, text, changed)
		out = append(out, f)
	}
	return out, nil
}

// turn returns the operator with which a text begins, and what gremlins makes of it.
func turn(kind, text string) (was, is string) {
	pairs := map[string][]string{ // order-free: one is taken
		"ARITHMETIC_BASE":       {"+", "-", "-", "+", "*", "/", "/", "*", "%", "*"},
		"CONDITIONALS_BOUNDARY": {">=", ">", "<=", "<", ">", ">=", "<", "<="},
		"CONDITIONALS_NEGATION": {"==", "!=", "!=", "==", "<=", ">", ">=", "<", "<", ">=", ">", "<="},
		"INCREMENT_DECREMENT":   {"++", "--", "--", "++"},
		"INVERT_NEGATIVES":      {"-", "+"},
	}[kind]
	for i := 0; i < len(pairs); i += 2 {
		if strings.HasPrefix(text, pairs[i]) {
			return pairs[i], pairs[i+1]
		}
	}
	return "", ""
}

// function returns the function in whose body pos is; nil if a flaw cannot be laid over the source there: outside of
// functions, and in one that declares a named result again, because in the copy of the body that would be another
// variable.
func function(tree *ast.File, pos token.Pos) *ast.FuncDecl {
	for _, d := range tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && f.Body.Pos() < pos && pos < f.Body.End() &&
			!declaresResult(f) {
			return f
		}
	}
	return nil
}

func declaresResult(f *ast.FuncDecl) bool {
	var results []string
	if f.Type.Results != nil {
		for _, field := range f.Type.Results.List {
			for _, name := range field.Names {
				results = append(results, name.Name)
			}
		}
	}
	for _, s := range f.Body.List {
		a, ok := s.(*ast.AssignStmt)
		if !ok || a.Tok != token.DEFINE {
			continue
		}
		for _, l := range a.Lhs {
			if id, ok := l.(*ast.Ident); ok && slices.Contains(results, id.Name) {
				return true
			}
		}
	}
	return false
}

//go:embed equivalent.txt
var equivalents string

// without removes the faults of a table such as equivalent.txt. An entry of the package that is no fault any more is an
// error.
func without(faults []fault, table, pkg string) ([]fault, error) {
	for line := range strings.SplitSeq(table, "\n") {
		key, why := line, ""
		if end := strings.LastIndex(line, " // "); end >= 0 { // the last one: the line of the source may have a remark itself
			key, why = line[:end], line[end:]
		}
		file, _, ok := strings.Cut(key, ": ")
		if !ok || path.Dir(file) != pkg {
			continue // a remark, or of another package
		}
		rest := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return f.key() == key })
		if len(rest) == len(faults) || why == "" {
			return nil, fmt.Errorf("equivalent.txt: no fault %q, or no reason: correct or remove the entry", key)
		}
		faults = rest
	}
	return faults, nil
}
