package mutant

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

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
				return nil, fmt.Errorf("line %d: %q is no key; try: fault, file, %s, or a text behind - or +", i+1, key, strings.Join(keys, ", "))
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
