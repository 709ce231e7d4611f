package nats

import (
	"errors"
	"strconv"
	"testing"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/store"
)

// TestWhatARefusalMeans gives a write the refusals of leaders, replaced ones and the present one, each with the newest
// message of the subject.
func TestWhatARefusalMeans(t *testing.T) {
	t.Parallel()
	const mine = "mine"
	for name, c := range map[string]struct {
		chain    []string // the names of the writes of the subject, which have the sequences 1, 2, ...
		expected uint64   // the sequence that the write expected
		to       uint64   // the newest sequence of the leader that refused; 0: it does not say
		broken   bool     // the connection broke after the write was sent
		want     error    // nil: the write was done
	}{
		"somebody else was first":             {expected: 1, to: 2, chain: []string{"first", "theirs"}, want: errMoved},
		"many others were":                    {expected: 1, to: 4, chain: []string{"first", "a", "b", "c"}, want: errMoved},
		"an old leader refused what was done": {expected: 2, to: 1, chain: []string{"older", "first", mine}},
		"refused without a number, and done":  {expected: 1, chain: []string{"first", mine}},
		"an old leader, and somebody else was first": {expected: 2, to: 1, chain: []string{"older", "first", "theirs"},
			want: errMoved},
		"an old leader, and nobody wrote": {expected: 2, to: 1, chain: []string{"older", "first"}, want: errMoved},
		"an old leader, done perhaps, others after": {expected: 2, to: 1,
			chain: []string{"older", "first", mine, "theirs"}, want: store.ErrUnknown},
		"the connection broke, and somebody wrote": {expected: 1, to: 2, chain: []string{"first", "theirs"},
			broken: true, want: store.ErrUnknown},
		"the connection broke, and it was done": {expected: 1, to: 2, chain: []string{"first", mine}, broken: true},
	} {
		last := uint64(len(c.chain))
		newest := message{seq: last, header: nc.Header{
			headerExpect: {strconv.FormatUint(last-1, 10)},
			headerWrite:  {c.chain[last-1]},
		}}
		seq, err := judge(newest, mine, c.expected, c.broken, &movedError{to: c.to})
		switch {
		case c.want == nil && (err != nil || seq != last):
			t.Errorf("%s: %d, %v; want %d: it was done", name, seq, err, last)
		case !errors.Is(err, c.want):
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		case errors.Is(err, store.ErrUnknown) && errors.Is(err, errMoved):
			t.Errorf("%s: error %v says two things", name, err)
		}
	}
}
