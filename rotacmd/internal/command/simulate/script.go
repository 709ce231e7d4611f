package simulate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The limits of a script.
const (
	MaxScript   = 4 << 20 // bytes
	maxCommands = 100_000
)

// ScriptError is a fault of a script.
type ScriptError struct {
	Line   int // from 1
	Reason string
	Try    string
}

// Error gives line and reason.
func (e *ScriptError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// Script is what a text says.
type Script struct {
	Lines []Line
	// Golden: it has expected outcomes, as the golden scripts of package cluster do. There members act only when they
	// are told to, and indexes go by ten.
	Golden bool
}

// Line is one command of a script: a name, words, options key=value or key=(a, b), and the lines that belong to it.
type Line struct {
	Number int
	Text   string // as it stands in the script, without what belongs to it
	Name   string
	words  []string
	opts   []option
	Input  []string
	indent []int // of each line of Input
}

type option struct {
	key    string
	values []string
}

// Parse reads a script. A line is a command; indented lines below it belong to it. In a paragraph with a line of four
// dashes all lines above it are one command, and what stands below it, the outcome that a golden script expects, is
// passed over. A # begins a comment line.
func Parse(text string) (s Script, err error) {
	if len(text) > MaxScript {
		return s, &ScriptError{Line: 1, Reason: fmt.Sprintf("the script has %d bytes, at most %d are allowed",
			len(text), MaxScript)}
	}
	lines := strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") // some editors write a byte order mark
	for from := 0; from < len(lines); {
		to := from
		for to < len(lines) && strings.TrimSpace(lines[to]) != "" {
			to++
		}
		part, golden, err := paragraph(lines[from:to], from+1)
		if err != nil {
			return s, err
		}
		s.Lines, s.Golden = append(s.Lines, part...), s.Golden || golden
		from = to + 1
	}
	if len(s.Lines) > maxCommands {
		return s, &ScriptError{Line: s.Lines[maxCommands].Number,
			Reason: fmt.Sprintf("more than %d commands", maxCommands)}
	}
	return s, nil
}

// paragraph reads lines without an empty one among them; the first has that number.
func paragraph(lines []string, number int) (out []Line, golden bool, err error) {
	if at := slices.IndexFunc(lines, func(s string) bool { return strings.TrimSpace(s) == "----" }); at >= 0 {
		lines, golden = lines[:at], true
	}
	for i, text := range lines {
		text = strings.TrimRight(text, " \t\r")
		inner := strings.TrimSpace(text)
		switch {
		case strings.HasPrefix(inner, "#"):
		case len(out) > 0 && (golden || text[0] != inner[0]):
			last := &out[len(out)-1]
			last.Input, last.indent = append(last.Input, inner), append(last.indent, strings.Index(text, inner))
		case text[0] != inner[0]:
			return nil, false, &ScriptError{Line: number + i,
				Reason: "an indented line belongs to a command, and there is none above it",
				Try:    "begin it at the margin"}
		default:
			l, err := command(inner, number+i)
			if err != nil {
				return nil, false, err
			}
			out = append(out, l)
		}
	}
	return out, golden, nil
}

// command reads the words of one line.
func command(text string, number int) (Line, error) {
	l := Line{Number: number, Text: text}
	tokens, err := tokens(text)
	if err != nil {
		return l, &ScriptError{Line: number, Reason: err.Error()}
	}
	for i, t := range tokens {
		key, value, isOption := strings.Cut(t, "=")
		switch {
		case i == 0:
			l.Name = t
		case isOption && l.has(key):
			return l, &ScriptError{Line: number, Reason: fmt.Sprintf("duplicate %s", key)}
		case isOption:
			l.opts = append(l.opts, option{key, list(value)})
		default:
			l.words = append(l.words, t)
		}
	}
	return l, nil
}

// tokens are separated by spaces outside of parentheses.
func tokens(text string) (out []string, err error) {
	depth, from := 0, -1
	for i, r := range text + " " {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		space := (r == ' ' || r == '\t') && depth == 0
		switch {
		case space && from >= 0:
			out = append(out, text[from:i])
			from = -1
		case !space && from < 0:
			from = i
		}
		if depth < 0 {
			return nil, fmt.Errorf("a parenthesis is closed that was not opened")
		}
	}
	if depth > 0 {
		return nil, fmt.Errorf("a parenthesis is not closed")
	}
	return out, nil
}

// list reads (a, b), or one value.
func list(s string) []string {
	if !strings.HasPrefix(s, "(") || !strings.HasSuffix(s, ")") {
		return []string{s}
	}
	var out []string
	for part := range strings.SplitSeq(s[1:len(s)-1], ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// has tells whether the word, or an option of that name, stands on the line.
func (l *Line) has(name string) bool {
	return slices.Contains(l.words, name) || slices.ContainsFunc(l.opts, func(o option) bool { return o.key == name })
}

// names are the words that are not flags.
func (l *Line) names(flags ...string) []string {
	return slices.DeleteFunc(slices.Clone(l.words), func(w string) bool { return slices.Contains(flags, w) })
}

func (l *Line) values(key string) []string {
	for _, o := range l.opts {
		if o.key == key {
			return o.values
		}
	}
	return nil
}

func (l *Line) text(key string) string { return strings.Join(l.values(key), ", ") }

// number reads an option that is a whole number; otherwise where it is not there.
func (l *Line) number(key string, otherwise int64) (int64, error) {
	s := l.text(key)
	if s == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, l.fault("%s=%s: a whole number is wanted", key, s)
	}
	return n, nil
}

// field is an option that is a whole number, and where it goes.
type field struct {
	key string
	to  *int64
}

// numbers reads several options; those that are not there leave their fields as they are.
func (l *Line) numbers(fields ...field) (err error) {
	for _, f := range fields {
		if *f.to, err = l.number(f.key, *f.to); err != nil {
			return err
		}
	}
	return nil
}

// only refuses options and words that the command does not know.
func (l *Line) only(options ...string) error {
	for _, o := range l.opts {
		if !slices.Contains(options, o.key) {
			return &ScriptError{Line: l.Number, Reason: fmt.Sprintf("%s has no option %q", l.Name, o.key),
				Try: "its options: " + strings.Join(options, ", ")}
		}
	}
	return nil
}

func (l *Line) fault(format string, args ...any) error {
	return &ScriptError{Line: l.Number, Reason: fmt.Sprintf(format, args...)}
}
