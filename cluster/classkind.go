package cluster

import (
	"strings"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/schedule"
)

// classKind is what is placed by a view of its own, evenly by itself.
type classKind int

const (
	kindTasks   classKind = iota
	kindWindows           // partitioners and items: they come and go, and must not move other partitions about
	kindOwn               // what Rota runs for itself: it takes no room of a member, so it also runs where all are full
	kinds
)

// The marks of the kinds, in the keys of their classes.
const (
	stays = "\x04" // not moved to even the load: it begins and ends often, and a move would cut its run for nothing
	own   = "\x05"
)

func kindOf(c *schedule.Class) classKind {
	switch {
	case strings.HasPrefix(c.Key, stays):
		return kindWindows
	case strings.HasPrefix(c.Key, own):
		return kindOwn
	}
	return kindTasks
}

// present reports whether there is anything of a kind.
func (v *Value) present(kind classKind) (some bool) {
	mark := ""
	switch kind {
	case kindWindows:
		mark = stays
	case kindOwn:
		mark = own
	}
	ordered.Below(&v.derived.classes, mark, func(string, classRecord) bool {
		some = true
		return false
	})
	return some
}
