package main

import (
	"context"
	_ "embed"
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
	old          string // what stood there
	text         string // of the line, with the fault
	flaw         mutant.Flaw
}

func (f fault) String() string {
	return fmt.Sprintf("%s:%d:%d: %s   (was %s)", f.file, f.line, f.column, f.text, f.old)
}

// key names a fault in equivalent.txt. It has no line number, so that it lasts.
func (f fault) key() string { return f.file + ": " + f.text }

// find returns the faults of a package that can be planted, in the order of files and lines.
func find(ctx context.Context, root, pkg string) ([]fault, error) {
	built, err := list(ctx, root, pkg, "{{range .GoFiles}}{{.}} {{end}}{{range .CgoFiles}}{{.}} {{end}}")
	if err != nil {
		return nil, err
	}
	var faults []fault
	for _, f := range built {
		of, err := read(root, filepath.ToSlash(filepath.Join(pkg, f)))
		if err != nil {
			return nil, err
		}
		faults = append(faults, of...)
	}
	return faults, nil
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

// read makes the faults of a file that can be laid over it.
func read(root, file string) ([]fault, error) {
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
	cut := func(n ast.Node) string { return text[lines.Offset(n.Pos()):lines.Offset(n.End())] }
	var out []fault
	for _, d := range tree.Decls {
		in, ok := d.(*ast.FuncDecl)
		if !ok || in.Body == nil || declaresResult(in) {
			continue
		}
		for i, e := range (&finder{text: cut}).find(in) {
			at, end := lines.Offset(e.at), lines.Offset(e.end)
			changed := text[:at] + e.is + text[end:]
			from, to := strings.LastIndexByte(text[:at], '\n')+1, at+strings.IndexByte(changed[at:], '\n')
			p := files.Position(e.at)
			f := fault{file: file, line: p.Line, column: p.Column, old: text[at:end],
				text: strings.TrimSpace(changed[from:to])}
			if f.text == "" {
				f.text, _, _ = strings.Cut("without "+f.old, "\n")
			}
			f.first, f.last = files.Position(in.Pos()).Line, files.Position(in.End()).Line
			f.flaw = mutant.New(fmt.Sprintf("%s:%05d:%03d %d %s", file, p.Line, p.Column, i, e.is), file, text, changed)
			out = append(out, f)
		}
	}
	return out, nil
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
