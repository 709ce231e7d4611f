package history

import (
	"fmt"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// Foreign are the entries of a page of the log that name another history. It is a value.
type Foreign struct {
	Count  uint64
	Newest cluster.Entry
	Reason string // why the newest one is one of them
}

// Note records an applied entry; agrees is the result of History.Agrees for it.
func (f Foreign) Note(a protocol.Applied, agrees bool) Foreign {
	switch {
	case a.Foreign != "":
		f.Reason = a.Foreign
	case !agrees: // its base is too old to refuse it at all members alike
		f.Reason = cluster.OtherHistory + "; it counts, for its base is too old to tell everywhere"
	default:
		return f
	}
	f.Count, f.Newest = f.Count+1, a.Entry
	return f
}

// Key is what the journal calls them.
func (f Foreign) Key() string {
	if f.Count > 1 {
		return fmt.Sprintf("entry %s and %d before it", f.Newest.Index, f.Count-1)
	}
	return fmt.Sprintf("entry %s", f.Newest.Index)
}
