package source

import (
	"fmt"
	"strings"

	"github.com/rota-run/rota/journal"
)

// MalformedError says what is wrong with a definition, and where.
type MalformedError struct {
	Path    string
	Line    int // from 1; 0 when it is about the whole file
	Column  int // from 1, in characters
	Message string
	Hint    string   // what to try; "" for none
	Lines   []string // the lines concerned, numbered, with a caret below the place
}

// Error is one line: path:line:column: message (hint).
func (e *MalformedError) Error() string {
	s := e.Path
	if e.Line > 0 {
		s += fmt.Sprintf(":%d:%d", e.Line, e.Column)
	}
	s += ": " + e.Message
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Record is the fault as the journal keeps it.
func (e *MalformedError) Record() journal.Record {
	message := e.Message
	if e.Hint != "" {
		message += " (" + e.Hint + ")"
	}
	return journal.Record{
		Kind: journal.Malformed, Message: message,
		Storage: &journal.Storage{Type: "directory", Path: e.Path, Line: e.Line, Column: e.Column, Lines: e.Lines},
	}
}

// maxExtract bounds a line in an extract, in characters.
const maxExtract = 120

// extract shows the line before, the line and the place.
func extract(data []byte, line, column int) []string {
	if line <= 0 {
		return nil
	}
	all := strings.Split(string(data), "\n")
	if line > len(all) {
		return nil
	}
	var out []string
	for n := max(1, line-1); n <= line; n++ {
		text := []rune(strings.TrimRight(strings.ToValidUTF8(all[n-1], "?"), "\r"))
		out = append(out, fmt.Sprintf("%6d │ %s", n, string(text[:min(len(text), maxExtract)])))
	}
	return append(out, fmt.Sprintf("%6s │ %s^", "", strings.Repeat(" ", min(max(column-1, 0), maxExtract))))
}
