package engine

import (
	"strings"
	"time"

	"github.com/rota-run/rota/store/driver"
)

// buried is a tombstone as it was first seen.
type buried struct {
	version driver.Version
	since   time.Duration
}

// moment is when rows were read: between two times of the reader's clock.
type moment struct{ began, ended time.Duration }

// ripe are the tombstones among rows that have stood unchanged for as long as quiet, at the least. It also says what to
// remember of the rest.
func ripe(rows []driver.Row, before map[string]buried, at moment, quiet time.Duration) (
	free []driver.Row, after map[string]buried,
) {
	after = map[string]buried{}
	for _, row := range rows {
		if !isTomb(row) {
			continue
		}
		b := before[row.Key]
		if b.version != row.Version {
			b = buried{row.Version, at.ended}
		}
		if at.began-b.since >= quiet {
			free = append(free, row)
			continue
		}
		after[row.Key] = b
	}
	return free, after
}

// The first byte of a row says what it holds. Behind that of a tombstone is the life that was ended by it, if any.
const (
	live = 'v'
	tomb = 't'
)

func isTomb(row driver.Row) bool { return len(row.Value) > 0 && row.Value[0] == tomb }

// ended reports whether a row is the tombstone by which a life was ended.
func ended(row driver.Row, life string) bool {
	return isTomb(row) && string(row.Value[1:]) == life
}

// leaves reports whether a row may be left as it is when a life has ended: nothing that this life has sent can change
// it. That is so of the tombstone that ended it, and of what others have written over it. What another one has deleted
// is written anew: the life may have sent a create over that tombstone.
func leaves(row driver.Row, life string) bool {
	if row.Version == "" || strings.HasPrefix(row.Name, life+".") {
		return ended(row, life)
	}
	return !isTomb(row) || ended(row, life)
}
