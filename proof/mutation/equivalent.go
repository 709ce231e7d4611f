package main

import (
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"
)

//go:embed equivalent.txt
var equivalents string

// without removes the faults of a table such as equivalent.txt. An entry of the package that is no fault any more is an error.
func without(faults []fault, table, pkg string) ([]fault, error) {
	for line := range strings.SplitSeq(table, "\n") {
		key, why := line, ""
		if end := strings.LastIndex(line, " // "); end >= 0 { // the last one: the line of the source may have a remark itself
			key, why = line[:end], line[end:]
		}
		file, _, ok := strings.Cut(key, ": ")
		if !ok || path.Dir(file) != pkg {
			continue // a remark, or of another package
		}
		rest := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return f.key() == key })
		if len(rest) == len(faults) || why == "" {
			return nil, fmt.Errorf("equivalent.txt: no fault %q, or no reason: correct or remove the entry", key)
		}
		faults = rest
	}
	return faults, nil
}
