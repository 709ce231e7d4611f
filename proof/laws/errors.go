package laws

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// Errors finds error texts that begin with words which say nothing: the text is verb, object, cause ("renew lease: %w"), and whoever reads it knows that
// it is an error.
func Errors(f *File) []string {
	if f.Test {
		return nil
	}
	names := f.Names()
	var out []string
	ast.Inspect(f.AST, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		if c := called(call, names); c != "fmt.Errorf" && c != "errors.New" {
			return true
		}
		lit, ok := call.Args[0].(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		for _, w := range []string{"failed to", "unable to", "could not", "error"} {
			if strings.HasPrefix(strings.ToLower(strings.Trim(lit.Value, "`\"")), w+" ") {
				out = append(out, fmt.Sprintf("%s: an error text begins with %q; write verb, object, cause", f.At(lit.Pos()), w))
			}
		}
		return true
	})
	return out
}
