package chaos

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/proof/history"
)

// lost is the time that tasks were without an owner who was awake, in seconds of tasks, of all gaps that began after
// events of one kind and before the next.
type lost struct {
	Seconds float64 `json:"seconds"`
	// Impossible is the part in which nobody could run anything: the store was away, its disk full, no process awake.
	Impossible float64 `json:"impossible"`
	// Promised is the part in which others had to wait: the owner was suspended, at most until its lease has ended.
	Promised float64 `json:"promised"`
	// Slow is what is left: time to notice, to decide, to tell, to start.
	Slow float64 `json:"slow"`
}

// What gaps before the first event and after the last one stand under, and all of them together.
const (
	atBegin = "begin"
	atEnd   = "end"
	inAll   = "all"
)

// at is the event in whose window an instant lies: from its beginning to that of the next one.
func (r *Report) at(instant int64) string {
	i, _ := slices.BinarySearchFunc(r.marks, instant+1, func(m mark, at int64) int { return cmp.Compare(m.at, at) })
	if i == 0 {
		return atBegin
	}
	return r.marks[i-1].kind
}

// pace is the time of an event on a directory: there 100 events take about 50 s. A store on which they take longer
// shall not gain by it.
const pace = time.Second / 2

// lose finds out after which events tasks lost time, and the share of their time that they had an owner: of all of it,
// and of that in which they could, as if an event had come at each pace and all had been well else. Took is from the
// first event to the end.
func (r *Report) lose(verdict history.Report, took time.Duration) {
	all := lost{}
	r.Lost = map[string]*lost{inAll: &all}
	for _, s := range verdict.Silences {
		kind := r.at(s.From)
		l := r.Lost[kind]
		if l == nil {
			l = &lost{}
			r.Lost[kind] = l
		}
		l.add(s)
		all.add(s)
	}
	if wanted := verdict.Wanted.Seconds(); wanted > 0 && r.Events > 0 {
		r.Owned = thousandths(1 - all.Seconds/wanted)
		r.SlowMS = math.Round(1000 * all.Slow / (wanted / took.Seconds()) / float64(r.Events))
		r.OwnedPossible = thousandths(max(0, 1-r.SlowMS/float64(pace.Milliseconds())))
	}
	for _, l := range r.Lost {
		*l = lost{thousandths(l.Seconds), thousandths(l.Impossible), thousandths(l.Promised), thousandths(l.Slow)}
	}
}

func (l *lost) add(s history.Silence) {
	total := time.Duration(s.To - s.From)
	l.Seconds += total.Seconds()
	l.Impossible += s.Helpless.Seconds()
	l.Promised += s.Asleep.Seconds()
	l.Slow += (total - s.Helpless - s.Asleep).Seconds()
}

func thousandths(f float64) float64 { return math.Round(1000*f) / 1000 }

// losses is where the time went, for people: what cost most comes first.
func (r *Report) losses() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-20s %6s  %8s %10s %8s %8s  seconds of tasks without an owner\n", "event", "times", "lost",
		"impossible", "promised", "slow")
	kinds := slices.SortedFunc(maps.Keys(r.Lost),
		func(a, b string) int { return cmp.Compare(r.Lost[b].Seconds, r.Lost[a].Seconds) })
	for _, k := range kinds {
		l := r.Lost[k]
		fmt.Fprintf(&b, "%-20s %6d  %8.1f %10.1f %8.1f %8.1f\n", k, r.Kinds[k], l.Seconds, l.Impossible, l.Promised,
			l.Slow)
	}
	return b.String()
}

// writeSilences writes down each gap, the longest first: for who looks at a kept directory.
func (c *Cluster) writeSilences(r *Report, silences []history.Silence) error {
	var b strings.Builder
	slices.SortFunc(silences, func(a, b history.Silence) int { return cmp.Compare(b.To-b.From, a.To-a.From) })
	for _, s := range silences {
		from, length := time.Duration(s.From-int64(c.beganAt)), time.Duration(s.To-s.From)
		fmt.Fprintf(&b, "at %8.3fs for %7.3fs impossible %7.3fs ", from.Seconds(), length.Seconds(),
			s.Helpless.Seconds())
		fmt.Fprintf(&b, "asleep %7.3fs after %s: %s\n", s.Asleep.Seconds(), r.at(s.From), s.Partition)
	}
	return os.WriteFile(filepath.Join(c.dir, "silences"), []byte(b.String()), 0o640)
}
