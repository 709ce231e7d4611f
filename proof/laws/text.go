package laws

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// machineWords are what belongs to the machine on which a file was written and not into the repository: paths, package
// registries. The words are put together here so that this file does not contain them.
var machineWords = regexp.MustCompile(strings.Join([]string{
	`(^|[^A-Za-z0-9_./-])/(` + "wo" + `rk|` + "ro" + `ot|` + "ho" + `me/[a-z]+)/`,
	`proxy` + `\.golang\.org`, `sum` + `\.golang\.org`, `registry` + `\.npmjs\.org`, `goproxy` + `\.`, `files\.python` +
		`hosted`, `artif` + `actory`,
}, "|"))

// maxText bounds the files that Text reads: larger ones are data.
const maxText = 1 << 20

// Text finds words of one machine in any text file of the tree that has no zero byte, data of tests too. It returns how
// many files it has read.
func Text(root string) (faults []string, read int, err error) {
	err = walk(root, notOurs, func(name, rel string) error {
		info, err := os.Stat(name)
		if err != nil || info.Size() > maxText {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil || bytes.IndexByte(text, 0) >= 0 {
			return err
		}
		read++
		faults = append(faults, TextOf(rel, string(text))...)
		return nil
	})
	return faults, read, err
}

// TextOf finds words of one machine in one text.
func TextOf(rel, text string) []string {
	var out []string
	n := 0
	for line := range strings.Lines(text) {
		n++
		if word := machineWords.FindString(line); word != "" {
			out = append(out, fmt.Sprintf("%s:%d: %q is of one machine", rel, n, strings.TrimSpace(word)))
		}
	}
	return out
}

var markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// Links finds links of the documents to files of the repository that are not there. It returns how many links it has
// followed.
func Links(root string) (faults []string, followed int, err error) {
	err = walk(root, notOurs, func(name, rel string) error {
		if !strings.HasSuffix(rel, ".md") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		n, broken := brokenLinks(filepath.Dir(name), rel, string(text))
		followed += n
		faults = append(faults, broken...)
		return nil
	})
	return faults, followed, err
}

func brokenLinks(dir, rel, text string) (followed int, faults []string) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		for _, m := range markdownLink.FindAllStringSubmatch(line, -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			followed++
			if _, err := os.Stat(filepath.Join(dir, target)); err != nil {
				faults = append(faults, fmt.Sprintf("%s:%d: the link leads nowhere: %s", rel, n, m[1]))
			}
		}
	}
	return followed, faults
}

// Errors finds error texts that begin with words which say nothing: the text is verb, object, cause ("renew lease:
// %w"), and its reader knows that it is an error.
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
				out = append(out, fmt.Sprintf("%s: an error text begins with %q; write verb, object, cause",
					f.At(lit.Pos()), w))
			}
		}
		return true
	})
	return out
}
