package elastic

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rota-run/rota/store/driver"
)

// spot is the operation that wrote a row. Neither number says which one it was by itself: two primaries may give the
// same sequence number under different terms.
type spot struct{ seq, term int64 }

func (s spot) version() driver.Version { return driver.Version(fmt.Sprintf("%d.%d", s.seq, s.term)) }

// spotOf reads a version; false for what is none of ours, which no row has.
func spotOf(v driver.Version) (spot, bool) {
	first, second, _ := strings.Cut(string(v), ".")
	seq, err1 := strconv.ParseInt(first, 10, 64)
	term, err2 := strconv.ParseInt(second, 10, 64)
	s := spot{seq, term}
	return s, err1 == nil && err2 == nil && seq >= 0 && term > 0 && s.version() == v
}

// condition is what a request must say so that it changes this version alone.
func (s spot) condition() string {
	return fmt.Sprintf("if_seq_no=%d&if_primary_term=%d", s.seq, s.term)
}
