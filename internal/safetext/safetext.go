package safetext

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Deceives reports whether a character makes a terminal or a reader see another text: control characters, line
// separators, and invisible ones such as those that turn the direction of writing. The joiners that some scripts need
// do not count.
func Deceives(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return r != nonJoiner && r != joiner && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// Line is a text with a mark in place of each such character, so that its length in characters stays.
func Line(s string, mark rune) string {
	return strings.Map(func(r rune) rune {
		if Deceives(r) {
			return mark
		}
		return r
	}, s)
}

// Escaped is a text with such characters, and bytes that are no UTF-8, as Go writes them in quotes.
func Escaped(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, Deceives) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || Deceives(r) {
			quoted := strconv.QuoteToASCII(s[i : i+n])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// Cut is the beginning of a text, of at most so many bytes, and a mark where something is missing. It cuts no character
// in two.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	at := most
	for at > max(0, most-utf8.UTFMax) && !utf8.RuneStart(s[at]) {
		at--
	}
	return s[:at] + "…"
}

// Word is one word of a shell's command: as it is where a shell leaves it alone, else in quotes.
func Word(s string) string {
	switch {
	case s != "" && s[0] != '#' && !strings.ContainsFunc(s, special):
		return s
	case utf8.ValidString(s) && !strings.ContainsFunc(s, Deceives):
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '\'' || c == '\\' {
			fmt.Fprintf(&b, `\%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return "$'" + b.String() + "'"
}

// special is all but what has no meaning in a shell. A # begins a comment at the start of a word alone.
func special(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') &&
		!strings.ContainsRune("#%+,-./:@_", r)
}

// JSON is a document of JSON with such characters escaped; json.Marshal leaves some of them.
func JSON(document []byte) []byte {
	if !strings.ContainsFunc(string(document), Deceives) {
		return document
	}
	var b strings.Builder
	for _, r := range string(document) {
		switch {
		case !Deceives(r) || r == '\n': // of indented JSON; within a text it is escaped already
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return []byte(b.String())
}

// Nearest is the known name that is written most like this one; not ok when none is near.
func Nearest(name string, known []string) (nearest string, ok bool) {
	best := min(3, len(name)/2+1)
	for _, k := range known {
		if d := Distance(strings.ToLower(name), k); d < best {
			best, nearest = d, k
		}
	}
	return nearest, nearest != ""
}

// Distance is the number of edits between two short names (Levenshtein 1965).
func Distance(a, b string) int {
	if len(a) > 40 {
		return len(a)
	}
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		diagonal := prev[0]
		prev[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = prev[j+1]
			prev[j+1] = min(change, prev[j+1]+1, prev[j]+1)
		}
	}
	return prev[len(b)]
}
