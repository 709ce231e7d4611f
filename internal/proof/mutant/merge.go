package mutant

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// merge returns the package of a file and its text with all flaws of the set that are in it: what a flaw changes is put at the head of its
// function, to be run in place of what follows if that flaw is chosen.
func (s Set) merge(file, text string) (pkg, merged string, err error) {
	sound, err := split(file, text)
	if err != nil {
		return "", "", err
	}
	heads := make([]string, len(sound.functions))
	for i, f := range s {
		if f.File != file {
			continue
		}
		changed, err := f.change(text)
		if err != nil {
			return "", "", err
		}
		flawed, err := split(file, changed)
		if err != nil {
			return "", "", fmt.Errorf("flaw %q: %w", f.Name, err)
		}
		if !addHeads(heads, sound, flawed, i+1) {
			return "", "", fmt.Errorf("flaw %q changes more of %s than the bodies of functions, or nothing", f.Name, file)
		}
	}
	return sound.name, sound.join(heads), nil
}

// addHeads adds the functions in which flawed differs from sound to their heads. It is false unless they differ, and in bodies alone.
func addHeads(heads []string, sound, flawed source, number int) (ok bool) {
	if strings.Join(sound.between, "{}") != strings.Join(flawed.between, "{}") {
		return false
	}
	for i, f := range flawed.functions {
		if f.body == sound.functions[i].body {
			continue
		}
		end := ""
		if !f.results {
			end = "\nreturn"
		}
		heads[i] += fmt.Sprintf("\nif %s == %d {%s%s\n}\n", chosenName, number, f.body, end)
		ok = true
	}
	return ok
}

// source is the text of a file, cut at the bodies of its functions.
type source struct {
	name      string // of the package
	between   []string
	functions []function // one less than between
}

type function struct {
	body    string // without its braces
	results bool
}

func split(file, text string) (source, error) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, file, text, parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	s, at := source{name: tree.Name.Name}, 0
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		begin, end := files.PositionFor(f.Body.Lbrace, false).Offset, files.PositionFor(f.Body.Rbrace, false).Offset
		s.between = append(s.between, text[at:begin])
		s.functions = append(s.functions, function{text[begin+1 : end], f.Type.Results != nil})
		at = end + 1
	}
	s.between = append(s.between, text[at:])
	return s, nil
}

// join is the text again, with something at the head of each function.
func (s source) join(heads []string) string {
	var b strings.Builder
	for i, f := range s.functions {
		b.WriteString(s.between[i] + "{" + heads[i] + f.body + "}")
	}
	return b.String() + s.between[len(s.functions)]
}
