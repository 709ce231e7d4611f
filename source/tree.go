package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rota-run/rota/cluster"
)

// place is a place in a file, in lines and characters from 1. The zero place means the whole file.
type place struct{ line, column int }

func (p place) before(q place) bool {
	return p.line < q.line || p.line == q.line && p.column < q.column
}

type kind uint8

const (
	nothing kind = iota // null, or nothing at all
	boolean
	number
	text
	list
	mapping
)

// String names the kind for people.
func (k kind) String() string {
	return [...]string{"nothing", "true or false", "a number", "a text", "a list", "a mapping"}[k]
}

// node is a value in a file, whatever the format.
type node struct {
	kind  kind
	place place
	raw   string  // a scalar as it is written, without quotes
	json  string  // a boolean or number in canonical JSON
	items []*node // of a list
	pairs []pair  // of a mapping, in the order of the file; each key once
}

type pair struct {
	key   string
	place place // of the key
	value *node
}

// get finds a field of a mapping.
func (n *node) get(key string) (pair, bool) {
	for _, p := range n.pairs {
		if p.key == key {
			return p, true
		}
	}
	return pair{}, false
}

// maxDepth bounds the nesting of a definition.
const maxDepth = 50

// encode writes a value as canonical JSON: keys sorted, no spaces.
func (n *node) encode() json.RawMessage {
	var b strings.Builder
	n.encodeTo(&b)
	return json.RawMessage(b.String())
}

func (n *node) encodeTo(b *strings.Builder) {
	switch n.kind {
	case nothing:
		b.WriteString("null")
	case boolean, number:
		b.WriteString(n.json)
	case text:
		quote(b, n.raw)
	case list:
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			item.encodeTo(b)
		}
		b.WriteByte(']')
	case mapping:
		sorted := slices.SortedFunc(slices.Values(n.pairs),
			func(a, b pair) int { return strings.Compare(a.key, b.key) })
		b.WriteByte('{')
		for i, p := range sorted {
			if i > 0 {
				b.WriteByte(',')
			}
			quote(b, p.key)
			b.WriteByte(':')
			p.value.encodeTo(b)
		}
		b.WriteByte('}')
	}
}

func quote(b *strings.Builder, s string) {
	q, err := json.Marshal(s)
	if err != nil {
		q = []byte(`""`) // a string cannot fail
	}
	b.Write(q)
}

// MaxFile bounds a definition, in bytes.
const MaxFile = 1 << 20

// Extension reports whether files with this extension are definitions: .yaml, .yml or .json, in any case.
func Extension(file string) bool { return isJSON(file) || isYAML(file) }

func isJSON(file string) bool { return strings.EqualFold(path.Ext(file), ".json") }

func isYAML(file string) bool {
	return strings.EqualFold(path.Ext(file), ".yaml") || strings.EqualFold(path.Ext(file), ".yml")
}

// ID returns the job that a file defines: the name of the file without the extension.
func ID(file string) cluster.JobID {
	base := path.Base(file)
	return cluster.JobID(strings.TrimSuffix(base, path.Ext(base)))
}

// file is one definition being read.
type file struct {
	path string
	data string // without byte order mark
}

// fault makes the error about a place. A place that the file does not have, as parsers may report, becomes the nearest
// that it has.
func (f *file) fault(at place, message, hint string) *MalformedError {
	return f.shown(f.faultAt(at, message, hint))
}

// faultAt is a fault without its lines: a file may have many, and only one is shown.
func (f *file) faultAt(at place, message, hint string) *MalformedError {
	return &MalformedError{Path: f.path, Line: at.line, Column: at.column, Message: oneLine(message),
		Hint: oneLine(hint)}
}

// shown adds the lines of a fault.
func (f *file) shown(e *MalformedError) *MalformedError {
	if e.Line > 0 {
		lines := f.lines()
		e.Line = min(e.Line, len(lines))
		e.Column = max(1, min(e.Column, utf8.RuneCountInString(lines[e.Line-1])+1))
		e.Lines = extract(lines, e.Line, e.Column)
	}
	return e
}

// lines are the lines without their ends; at least one.
func (f *file) lines() []string {
	lines := strings.Split(f.data, "\n")
	if n := len(lines); n > 1 && lines[n-1] == "" {
		lines = lines[:n-1]
	}
	for i, l := range lines {
		lines[i] = strings.ToValidUTF8(strings.TrimSuffix(l, "\r"), "\ufffd")
	}
	return lines
}

// at is the place of a byte.
func (f *file) at(offset int) place {
	return place{1, 1}.behind(f.data[:max(0, min(offset, len(f.data)))])
}

// behind is the place behind a text that begins at p.
func (p place) behind(s string) place {
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		return place{line: p.line + strings.Count(s, "\n"), column: 1 + utf8.RuneCountInString(s[i+1:])}
	}
	return place{line: p.line, column: p.column + utf8.RuneCountInString(s)}
}

// TooLarge is the fault of a file of more than MaxFile bytes. Readers of files use it for those that they do not even
// read.
func TooLarge(path string, size int64) *MalformedError {
	return &MalformedError{
		Path: path, Message: fmt.Sprintf("%d bytes; a definition has at most %d", size, MaxFile),
		Hint: "if it holds tasks, split it into files of one task each; if it is no definition, move it out of the directory",
	}
}

// open checks what both formats ask of a text.
func open(name string, data []byte) (*file, error) {
	f := &file{path: name}
	if len(data) > MaxFile {
		return nil, TooLarge(name, int64(len(data)))
	}
	f.data = string(bytes.TrimPrefix(data, []byte("\ufeff")))
	for i := 0; i < len(f.data); {
		r, n := utf8.DecodeRuneInString(f.data[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return nil, f.fault(f.at(i), "it is not UTF-8", "save the file as UTF-8")
		case r < ' ' && r != '\t' && r != '\n' && !lineEnd(f.data[i:]), r == 0x7f:
			return nil, f.fault(f.at(i), fmt.Sprintf("a control character, %U", r),
				"remove it; in a quoted text write an escape")
		}
		i += n
	}
	if strings.TrimSpace(f.data) == "" {
		return nil, f.fault(place{}, "it is empty", "write at least: type: http")
	}
	return f, nil
}

// lineEnd reports whether s begins with a line end of Windows.
func lineEnd(s string) bool { return strings.HasPrefix(s, "\r\n") }

// read reads the tree of a file.
func read(name string, data []byte) (*file, *node, error) {
	f, err := open(name, data)
	if err != nil {
		return nil, nil, err
	}
	readTree := f.readYAML
	if isJSON(name) {
		readTree = f.readJSON
	}
	root, err := readTree()
	return f, root, err
}
