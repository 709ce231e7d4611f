package store

import (
	"fmt"
	"math"
)

// CheckSeed reports what is wrong with the index of SeedLog, or nil. Indexes fit an int64, and there must be room for further ones.
func CheckSeed(index uint64) error {
	if index == 0 || index > math.MaxInt64/2 {
		return fmt.Errorf("index is %d: give 1 to %d", index, int64(math.MaxInt64/2))
	}
	return nil
}
