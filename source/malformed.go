package source

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rota-run/rota/internal/plain"
	"github.com/rota-run/rota/journal"
)

// MalformedError is a fault of a definition, with its place.
type MalformedError struct {
	Path    string
	Storage string // what kind of storage Path is in; "" for a directory
	Line    int    // from 1; 0 when it is about the whole file
	Column  int    // from 1, in characters
	Message string
	Hint    string   // what to try; "" for none
	Lines   []string // the relevant lines, numbered, with a caret below the place
}

// Error returns one line: path:line:column: message (hint).
func (e *MalformedError) Error() string {
	s := oneLine(e.Path)
	if e.Line > 0 {
		s += fmt.Sprintf(":%d:%d", e.Line, e.Column)
	}
	return s + ": " + e.text()
}

func (e *MalformedError) text() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + " (" + e.Hint + ")"
}

// Record returns the fault as a record of the journal, under the task that the file defines.
func (e *MalformedError) Record() journal.Record {
	return journal.Record{
		Kind: journal.Malformed, Partition: string(ID(e.Path)), Message: e.text(),
		Storage: &journal.Storage{Type: cmp.Or(e.Storage, "directory"), Path: e.Path, Line: e.Line, Column: e.Column, Lines: e.Lines},
	}
}

// maxText bounds messages, in characters: they go into the journal.
const maxText = 500

// oneLine makes what came from a file or a task type fit into one line.
func oneLine(s string) string {
	s = plain.Line(strings.ToValidUTF8(strings.TrimSpace(s), "\ufffd"), ' ')
	if r := []rune(s); len(r) > maxText {
		return string(r[:maxText]) + "…"
	}
	return s
}

// maxExtract bounds the lines that are shown, in characters.
const maxExtract = 120

// extract shows the line before, the line, and a caret below the place. Of a long line the part around the place is shown.
func extract(lines []string, line, column int) []string {
	from := max(0, column-maxExtract+20)
	var out []string
	if line > 1 {
		out = append(out, numbered(line-1, window(lines[line-2], 0)))
	}
	out = append(out, numbered(line, window(lines[line-1], from)))
	caret := column - 1 - from
	if from > 0 {
		caret++ // the … at the left
	}
	return append(out, fmt.Sprintf("%6s │ %s^", "", strings.Repeat(" ", caret)))
}

func numbered(line int, s string) string {
	return strings.TrimRight(fmt.Sprintf("%6d │ %s", line, s), " ")
}

// window is the visible part of a line. A tab becomes a space, so that the caret is at the right column.
func window(line string, from int) string {
	r := []rune(plain.Line(line, ' '))
	left, right := "", ""
	if from > 0 {
		left = "…"
	}
	r = r[min(from, len(r)):]
	if len(r) > maxExtract {
		r, right = r[:maxExtract], "…"
	}
	return left + string(r) + right
}
