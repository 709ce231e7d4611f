package elastic

import (
	"fmt"

	"github.com/rota-run/rota/store/driver"
)

// spot is the operation that wrote a row. Neither number says which one it was by itself: two primaries may give the
// same sequence number under different terms.
type spot struct{ seq, term int64 }

func (s spot) version() driver.Version { return driver.Version(fmt.Sprintf("%d.%d", s.seq, s.term)) }

// spotOf reads a version; false for what is none of ours, which no row has.
func spotOf(v driver.Version) (spot, bool) {
	var s spot
	_, err := fmt.Sscanf(string(v), "%d.%d", &s.seq, &s.term)
	return s, err == nil && s.seq >= 0 && s.term > 0 && s.version() == v
}

// condition is what a request must say so that it changes this version alone.
func (s spot) condition() string {
	return fmt.Sprintf("if_seq_no=%d&if_primary_term=%d", s.seq, s.term)
}
