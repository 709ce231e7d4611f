package laws

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

// FloorTable says on which floor each room stands: one line a floor, its number and its rooms. docs/internals/house.md shows it.
//
//go:embed floors.txt
var FloorTable string

// Floors finds rooms without a floor, and imports of other rooms that do not go down. So no circle of rooms is possible. Tests may import what they like.
func Floors(f *File) []string {
	if f.Test {
		return nil
	}
	from := roomOf(f.Dir)
	floor, ok := floorOf(from)
	if !ok {
		return []string{fmt.Sprintf("%s: no floor is known for the room %s: add it to proof/laws/floors.txt and to docs/internals/house.md", f.Path, from)}
	}
	var out []string
	for _, imp := range f.AST.Imports {
		dir, ours := ourDir(importPath(imp))
		to := roomOf(dir)
		if !ours || to == from {
			continue
		}
		if below, _ := floorOf(to); below >= floor {
			out = append(out, fmt.Sprintf("%s: %s (floor %d) must not import %s (floor %d): an import goes down (proof/laws/floors.txt)", f.At(imp.Pos()), from, floor, to, below))
		}
	}
	return out
}

// roomOf is the room of a folder: the folder at the top of the tree, except for what the root, the command and the proof have elsewhere.
func roomOf(dir string) string {
	switch top, rest, _ := strings.Cut(dir, "/"); {
	case dir == ".":
		return "rota"
	case top == "cmd":
		return "rotacmd"
	case top == "internal" && (rest == "proof" || strings.HasPrefix(rest, "proof/")):
		return "proof"
	default:
		return top
	}
}

// floorOf is where a room stands. A room that has no floor stands above all others, so that nothing may import it.
func floorOf(room string) (floor int, ok bool) {
	for line := range strings.Lines(FloorTable) {
		words := strings.Fields(line)
		for _, r := range words[2:] {
			if r == room {
				floor, err := strconv.Atoi(words[1])
				return floor, err == nil
			}
		}
	}
	return 1 << 10, false
}
