package laws

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

// pureImports are what pure code may import besides this module's pure packages and contracts: nothing here looks at
// the world.
var pureImports = []string{
	"bytes", "cmp", "container/heap", "crypto/sha256", "encoding", "encoding/binary", "encoding/hex", "encoding/json",
	"errors", "fmt", "iter", "maps", "math",
	"math/bits", "slices", "sort", "strconv", "strings", "time", "unicode", "unicode/utf8",
	"github.com/cespare/xxhash/v2",
}

// pureNames are the only names of these packages that pure code may use; of other packages it may use all. Time comes
// in as data.
var pureNames = []struct{ path, names string }{
	{"time", "Duration Time Nanosecond Microsecond Millisecond Second Minute Hour UnixMilli Unix UTC"},
	{"fmt", "Sprintf Sprint Errorf Stringer Appendf Append Fprintf Fprint Fprintln" /* the writer is a builder: os cannot be imported */},
	{"math", "MaxInt MinInt MaxInt64 MinInt64 MaxInt32 MinInt32 MaxUint64 MaxUint32 MaxInt16 MaxUint16 MaxUint8"},
}

// Pure tells whether a file must be pure: all of the packages cluster, internal/schedule, internal/flow,
// internal/ordered, internal/protocol/heartbeat, internal/protocol/member and proof/history, and every step*.go.
func Pure(f *File) bool {
	if f.Test {
		return false
	}
	return slices.Contains([]string{"cluster", "internal/schedule", "internal/flow", "internal/protocol/heartbeat",
		"internal/ordered", "internal/protocol/duty", "internal/protocol/outbox", "internal/protocol/elect",
		"internal/protocol/member", "proof/history"}, f.Dir) || strings.HasPrefix(path.Base(f.Path), "step")
}

// Purity finds what pure code may not do: goroutines, channels, clocks, chance, the world outside, floats.
func Purity(f *File) []string {
	if !Pure(f) {
		return nil
	}
	p := purity{f: f, names: f.Names()}
	for _, imp := range f.AST.Imports {
		name := importPath(imp)
		if _, ours := ourDir(name); !ours && !slices.Contains(pureImports, name) {
			p.add(imp.Pos(), "imports "+name)
		}
		if imp.Name != nil && imp.Name.Name == "." {
			p.add(imp.Pos(), "imports with a dot, which hides what it uses")
		}
	}
	ast.Inspect(f.AST, p.visit)
	return p.out
}

type purity struct {
	f     *File
	names map[string]string
	out   []string
}

func (p *purity) add(at token.Pos, what string) {
	p.out = append(p.out, fmt.Sprintf("%s: pure code %s", p.f.At(at), what))
}

func (p *purity) visit(n ast.Node) bool {
	if what := impurity(n, p.names); what != "" {
		p.add(n.Pos(), what)
	}
	return true
}

// impurity says what is impure about one node itself; "" if nothing.
func impurity(n ast.Node, names map[string]string) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "starts a goroutine"
	case *ast.ChanType:
		return "has a channel"
	case *ast.SendStmt:
		return "sends to a channel"
	case *ast.SelectStmt:
		return "selects"
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			return "receives from a channel"
		}
	case *ast.SelectorExpr:
		return foreignName(n, names)
	case *ast.Ident:
		switch n.Name {
		case "float64", "float32", "complex64", "complex128":
			return "has a float"
		case "print", "println":
			return "prints"
		}
	case *ast.BasicLit:
		if n.Kind == token.FLOAT || n.Kind == token.IMAG {
			return "has a float"
		}
	}
	return ""
}

// foreignName says whether a name of another package is one that pure code may not use.
func foreignName(n *ast.SelectorExpr, names map[string]string) string {
	x, ok := n.X.(*ast.Ident)
	if !ok || x.Obj != nil { // Obj: a variable of that name
		return ""
	}
	from, ok := names[x.Name]
	if _, ours := ourDir(from); !ok || ours {
		return ""
	}
	use := "uses " + from + "." + n.Sel.Name
	for _, p := range pureNames {
		if p.path == from && !slices.Contains(strings.Fields(p.names), n.Sel.Name) {
			return use
		}
	}
	if !slices.Contains(pureImports, from) {
		return use
	}
	return ""
}
