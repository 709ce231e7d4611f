package laws

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// pureImports are what pure code may import besides this module's pure packages: nothing here looks at the world.
var pureImports = []string{
	"bytes", "cmp", "encoding/binary", "errors", "fmt", "iter", "maps", "math", "math/bits", "slices", "sort", "strconv", "strings",
	"time", "unicode", "unicode/utf8", "hash/fnv", "container/heap", "encoding/json", "encoding/hex",
	"github.com/tidwall/btree", "github.com/cespare/xxhash/v2",
}

// pureFuncs are the only things of package time that pure code may name: time comes in as data.
var pureTime = []string{"Duration", "Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour"}

// Pure tells whether a file must be pure: the packages cluster, schedule and flow, and every step*.go. effect.go and event.go are what steps speak in.
func Pure(f *File) bool {
	if f.Test {
		return false
	}
	switch f.Dir {
	case "cluster", "schedule", "flow":
		return true
	}
	return strings.HasPrefix(path.Base(f.Path), "step")
}

// Purity finds what pure code may not do.
func Purity(f *File) []string {
	if !Pure(f) {
		return nil
	}
	p := purity{f: f}
	for _, imp := range f.AST.Imports {
		name, err := strconv.Unquote(imp.Path.Value)
		if err == nil && !strings.HasPrefix(name, Module+"/") && !slices.Contains(pureImports, name) {
			p.add(imp.Pos(), "imports %s", name)
		}
	}
	ast.Inspect(f.AST, p.visit)
	return p.out
}

type purity struct {
	f   *File
	out []string
}

func (p *purity) add(at token.Pos, format string, args ...any) {
	p.out = append(p.out, fmt.Sprintf("%s: pure code %s", p.f.At(at), fmt.Sprintf(format, args...)))
}

func (p *purity) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		p.add(n.Pos(), "starts a goroutine")
	case *ast.ChanType:
		p.add(n.Pos(), "has a channel")
	case *ast.SendStmt:
		p.add(n.Pos(), "sends to a channel")
	case *ast.SelectStmt:
		p.add(n.Pos(), "selects")
	case *ast.SelectorExpr:
		if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && !slices.Contains(pureTime, n.Sel.Name) {
			p.add(n.Pos(), "uses time.%s", n.Sel.Name)
		}
	case *ast.Ident:
		if n.Name == "float64" || n.Name == "float32" {
			p.add(n.Pos(), "has a float")
		}
	case *ast.BasicLit:
		if n.Kind == token.FLOAT || n.Kind == token.IMAG {
			p.add(n.Pos(), "has a float")
		}
	}
	return true
}
