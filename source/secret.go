package source

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// secretive are the ends of fields that may have a secret.
var secretive = [...]string{"password", "token", "secret", "key", "authorization"}

// veil hides what may be a secret in the lines of a file, one after another: the journal has the lines of a fault, and
// whoever can reach the API reads it. The value of a field goes on up to the end of its quotes; without quotes in lines
// that are indented more than its name or, as the file may be malformed, name nothing.
type veil struct {
	column int  // of the name, from 1; 0 for none
	quote  byte // 0 for none
}

// hide is a line of the same length without the secret.
func (v *veil) hide(line string) string {
	text := strings.TrimLeft(line, " \t")
	switch {
	case v.quote != 0:
		end := closing(line, v.quote)
		if end < 0 {
			return stars(line)
		}
		line, v.quote = stars(line[:end])+line[end:], 0
	case v.column == 0:
	case len(line)-len(text) >= v.column, text != "" && text[0] != '#' && !strings.Contains(text+" ", ": "):
		return line[:len(line)-len(text)] + stars(text)
	case text != "" && text[0] != '#':
		v.column = 0
	}
	if before, rest, ok := strings.Cut(line, "://"); ok {
		if user, _, ok := strings.Cut(rest, "@"); ok && !strings.ContainsAny(user, `/"'`) {
			line = before + "://" + stars(user) + rest[len(user):]
		}
	}
	return v.values(line)
}

// values hides the values of fields, from the first one that may be a secret. A reference to a secret is none.
func (v *veil) values(line string) string {
	out := line
	for i := 0; i < len(line); i++ {
		value, ok := secretAt(line, i)
		if !ok {
			continue
		}
		if out == line {
			hidden := strings.TrimLeft(value, `"'`)
			out = strings.TrimSuffix(line, hidden) + stars(hidden)
		}
		if value != "" && strings.ContainsRune(`"'`, rune(value[0])) {
			end := closing(value[1:], value[0])
			if end < 0 {
				v.quote = value[0]
				return out
			}
			i = len(line) - len(value) + end
			continue
		}
		v.column = 1 + len(line) - len(strings.TrimLeft(line, " \t-"))
	}
	return out
}

// secretAt is what follows a colon behind the name of what may be a secret; false where there is no such name.
func secretAt(line string, colon int) (value string, ok bool) {
	if line[colon] != ':' {
		return "", false
	}
	name := strings.TrimRight(line[:colon], `"' `)
	ends := func(w string) bool { return len(name) >= len(w) && strings.EqualFold(name[len(name)-len(w):], w) }
	value = strings.TrimLeft(line[colon+1:], " \t")
	near, _, _ := strings.Cut(strings.TrimLeft(value[:min(len(value), maxExtract)], `"' `), ",")
	return value, slices.ContainsFunc(secretive[:], ends) && !strings.Contains(near, "env:") &&
		!strings.HasPrefix(near, "file:")
}

// closing is behind the end of a quoted text; -1 where that goes on in the next line.
func closing(s string, quote byte) int {
	for i := 0; i < len(s); i++ {
		switch {
		case quote == '"' && s[i] == '\\', quote == '\'' && strings.HasPrefix(s[i:], "''"):
			i++
		case s[i] == quote:
			return i + 1
		}
	}
	return -1
}

func stars(s string) string { return strings.Repeat("*", utf8.RuneCountInString(s)) }
