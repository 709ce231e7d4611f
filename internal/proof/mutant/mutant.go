// Package mutant builds programs and tests of this module with known flaws in them.
//
// # Purpose
//
// A check that never fails proves nothing. The programs and tests that check Rota put known flaws into its source, one
// at a time, and expect that each is noticed. A [Flaw] is a text of a file and what replaces it; the compiler lays the
// changed file over the source, so the code that is delivered has no switch. A [Set] lays many flaws over the source at
// once and builds one program, which takes one of them at its start.
//
// # Failures
//
// A text that isn't in its file exactly once is an error: the source has changed, and the table of flaws must follow.
package mutant

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Flaw is a flaw of one source file.
type Flaw struct {
	Name    string // what the code does wrong with it
	File    string // from the root of the module, with slashes
	Changes []Change
}

// Change replaces a text that the file has once.
type Change struct{ Old, New string }

// New is a flaw of a file: each old text is replaced by the new one that follows it.
func New(name, file string, oldNew ...string) Flaw {
	f := Flaw{Name: name, File: file}
	for i := 0; i+1 < len(oldNew); i += 2 {
		f.Changes = append(f.Changes, Change{Old: oldNew[i], New: oldNew[i+1]})
	}
	return f
}

// Apply returns the text of the file with the flaw.
func (f Flaw) Apply(root string) (string, error) {
	b, err := os.ReadFile(f.path(root))
	if err != nil {
		return "", err
	}
	return f.change(string(b))
}

func (f Flaw) change(text string) (string, error) {
	for _, c := range f.Changes {
		if n := strings.Count(text, c.Old); n != 1 {
			return "", fmt.Errorf("%s has the text %q %d times: adapt the table of flaws", f.File, c.Old, n)
		}
		text = strings.Replace(text, c.Old, c.New, 1)
	}
	return text, nil
}

func (f Flaw) path(root string) string { return filepath.Join(root, filepath.FromSlash(f.File)) }

// Build builds a package of the module with the flaw and returns the path of the program, which is in dir.
func (f Flaw) Build(ctx context.Context, root, dir, pkg string) (string, error) {
	return f.compile(ctx, root, dir, pkg, program)
}

// BuildTests builds the tests of a package as Build does the package. They expect to be run in the package's directory.
func (f Flaw) BuildTests(ctx context.Context, root, dir, pkg string) (string, error) {
	return f.compile(ctx, root, dir, pkg, tests)
}

func (f Flaw) compile(ctx context.Context, root, dir, pkg string, how []string) (string, error) {
	text, err := f.Apply(root)
	if err != nil {
		return "", err
	}
	return overlay{f.path(root): text}.compile(ctx, root, dir, pkg, how)
}

// Listed is a flaw of a list, with what the list says of it by key.
type Listed struct {
	Flaw
	Notes map[string]string
}

// Flaws are the flaws of a list alone.
func Flaws(list []Listed) (set Set) {
	for _, f := range list {
		set = append(set, f.Flaw)
	}
	return set
}

// ParseList reads a list of flaws. Each is a block of lines:
//
//	fault: what the code does wrong with it
//	file: lock/keeper.go
//	key: what else is said of it; a key may begin with "# "
//	-	the old text, which the file has once
//	+	the new text
//
// An old line after a new one begins another change of the same flaw. Other lines that begin with # are remarks.
func ParseList(text string, keys ...string) ([]Listed, error) {
	var list []Listed
	after := byte(0) // the sign of the line before: of two changes, the second begins at a - behind a +
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		sign := byte(0)
		key, rest, _ := strings.Cut(line, ": ")
		rest = strings.TrimSpace(rest)
		switch {
		case key == "fault":
			list = append(list, Listed{Flaw: Flaw{Name: rest}, Notes: make(map[string]string)})
		case line == "", line[0] == '#' && !slices.Contains(keys, key):
		case len(list) == 0:
			return nil, fmt.Errorf("line %d is before the first fault", i+1)
		default:
			f := &list[len(list)-1]
			switch {
			case line[0] == '-' || line[0] == '+':
				sign = line[0]
				f.addLine(line, after)
			case key == "file":
				f.File = rest
			case slices.Contains(keys, key):
				f.Notes[key] = rest
			default:
				return nil, fmt.Errorf("line %d: %q is no key; try: fault, file, %s, or a text behind - or +", i+1, key,
					strings.Join(keys, ", "))
			}
		}
		after = sign
	}
	for i := range list {
		if err := list[i].complete(); err != nil {
			return nil, fmt.Errorf("fault %q: %w", list[i].Name, err)
		}
	}
	return list, nil
}

// addLine adds a line of an old text or of a new one; after is the sign of the line before.
func (f *Flaw) addLine(line string, after byte) {
	sign, text := line[0], line[1:]
	if after == 0 || sign == '-' && after == '+' {
		f.Changes = append(f.Changes, Change{})
	}
	c := &f.Changes[len(f.Changes)-1]
	to := &c.Old
	if sign == '+' {
		to = &c.New
	}
	if sign == after {
		*to += "\n"
	}
	*to += text
}

func (f *Flaw) complete() error {
	if f.Name == "" || f.File == "" || len(f.Changes) == 0 {
		return errors.New("it needs a name, a file and a change")
	}
	if slices.ContainsFunc(f.Changes, func(c Change) bool { return c.Old == "" }) {
		return errors.New("a change has no old text")
	}
	return nil
}

// merge returns the package of a file and its text with all flaws of the set that are in it: what a flaw changes is put
// at the head of its function, to be run in place of what follows if that flaw is chosen.
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
			return "", "", fmt.Errorf("flaw %q changes more of %s than the bodies of functions, or nothing", f.Name,
				file)
		}
	}
	return sound.name, sound.join(heads), nil
}

// addHeads adds the functions in which flawed differs from sound to their heads. It is false unless they differ, and in
// bodies alone.
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
