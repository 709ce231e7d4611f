package logqueue

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
	"github.com/rota-run/rota/store"
)

// The operations of a story, on the shards 0 and 1 of a flow.
func commits(units ...unit) operation { return operation{Kind: opCommit, Commit: units} }
func takes(of ...delivery) operation {
	return operation{Kind: opTake, Take: take{Lease: 10, Messages: of}}
}
func keeps(of ...delivery) operation {
	return operation{Kind: opRelet, Relet: relet{Lease: 30, Keep: of}}
}
func returns(of ...delivery) operation {
	return operation{Kind: opRelet, Relet: relet{Return: of}}
}
func feeds(name string, outputs ...output) unit { return unit{Name: name, Outputs: outputs} }
func acks(name string, number uint64, outputs ...output) unit {
	return unit{Name: name, Inputs: []place{{0, number}}, Outputs: outputs}
}

// said is an outcome in words.
func (o outcome) said() string {
	for err, text := range map[error]string{store.ErrConflict: "conflict", store.ErrNotFound: "not found",
		store.ErrSealed: "sealed"} { // order-free: an error is one of them
		if errors.Is(o.err, err) {
			return text
		}
	}
	return strings.TrimSpace(fmt.Sprintln(o.err, o.fresh, o.won, o.freed))
}

// seen is a shard in words: what was stored and waits, in messages and segments, and of each that waits how often it
// was delivered and until when somebody has it.
func (s *shard) seen(began time.Time) string {
	text := fmt.Sprintf("%d/%d of %d/%d", ordered.Len(&s.waiting), s.pending, s.stored, s.segments)
	if s.sealed {
		text += " sealed"
	}
	ordered.Each(&s.waiting, func(number uint64, p *parcel) bool {
		until := int64(0)
		if !p.until.IsZero() {
			until = int64(p.until.Sub(began))
		}
		text += fmt.Sprintf(" %d:%d<%d", number, p.delivered, until)
		return true
	})
	return text
}

// kept is what a snapshot has of a flow.
func (s *state) kept() string {
	text := fmt.Sprintln(s.made, s.dropped, s.order, s.units)
	for _, sh := range s.shards {
		text += fmt.Sprintln(sh.stored, sh.segments, sh.pending, sh.sealed)
		ordered.Each(&sh.waiting, func(number uint64, p *parcel) bool {
			text += fmt.Sprintln(number, p.output, p.delivered, p.lease)
			return true
		})
	}
	return text
}

// TestState tells the story of a flow, an operation each nanosecond. A snapshot has all of it at each of them.
func TestState(t *testing.T) {
	t.Parallel()
	const in, out = 0, 1
	shards := []store.Shard{{Edge: "in"}, {Edge: "out"}}
	put := func(shard, segments int, at string) output { return output{Shard: shard, Segments: segments, At: at} }
	seal := output{Shard: out, Seal: true}
	began := time.Unix(0, 0)
	var s state
	for i, c := range []struct {
		op            operation
		said          string
		first, second string
	}{
		{commits(feeds("early")), "not found", "", ""},
		{operation{Kind: opMake, Make: shards}, "<nil> [] [] []", "0/0 of 0/0", "0/0 of 0/0"},
		{operation{Kind: opMake, Make: shards}, "<nil> [] [] []", "0/0 of 0/0", "0/0 of 0/0"},
		{operation{Kind: opMake, Make: shards[:1]}, "conflict", "0/0 of 0/0", "0/0 of 0/0"},
		{commits(feeds("a", put(in, 3, "x"), put(in, 2, "x"))), "<nil> [true] [] []", "2/5 of 2/5 1:0<0 2:0<0",
			"0/0 of 0/0"},
		{commits(feeds("a", put(in, 9, "")), feeds("b", put(in, 1, ""))), "<nil> [false true] [] []",
			"3/6 of 3/6 1:0<0 2:0<0 3:0<0", "0/0 of 0/0"},
		{commits(feeds("c", put(in, 1, "y")), feeds("c", put(in, 1, "y"))), "<nil> [true false] [] []",
			"4/7 of 4/7 1:0<0 2:0<0 3:0<0 4:0<0", "0/0 of 0/0"},
		{commits(feeds("d", put(2, 1, ""))), "not found", "4/7 of 4/7 1:0<0 2:0<0 3:0<0 4:0<0", "0/0 of 0/0"},
		{takes(delivery{1, 0}, delivery{2, 0}, delivery{9, 0}), "<nil> [] [[1 1] [2 1]] []",
			"4/7 of 4/7 1:1<18 2:1<18 3:0<0 4:0<0", "0/0 of 0/0"},
		{takes(delivery{1, 0}, delivery{3, 0}), "<nil> [] [[3 1]] []", "4/7 of 4/7 1:1<18 2:1<18 3:1<19 4:0<0",
			"0/0 of 0/0"},
		{keeps(delivery{1, 1}, delivery{2, 0}), "<nil> [] [] []", "4/7 of 4/7 1:1<40 2:1<18 3:1<19 4:0<0",
			"0/0 of 0/0"},
		{returns(delivery{2, 1}, delivery{3, 0}), "<nil> [] [] []", "4/7 of 4/7 1:1<40 2:1<0 3:1<19 4:0<0",
			"0/0 of 0/0"},
		{takes(delivery{2, 1}), "<nil> [] [[2 2]] []", "4/7 of 4/7 1:1<40 2:2<22 3:1<19 4:0<0", "0/0 of 0/0"},
		{commits(acks("e", 1, put(out, 4, "z")), acks("f", 1, put(out, 5, "z"))), "<nil> [true false] [] []",
			"3/4 of 4/7 2:2<22 3:1<19 4:0<0", "1/4 of 1/4 1:0<0"},
		{commits(acks("", 1, put(out, 4, "z"))), "<nil> [false] [] []", "3/4 of 4/7 2:2<22 3:1<19 4:0<0",
			"1/4 of 1/4 1:0<0"},
		{commits(acks("", 2)), "<nil> [true] [] [x]", "2/2 of 4/7 3:1<19 4:0<0", "1/4 of 1/4 1:0<0"},
		{commits(acks("", 3, seal)), "<nil> [true] [] []", "1/1 of 4/7 4:0<0", "1/4 of 1/4 sealed 1:0<0"},
		{commits(acks("", 4), feeds("g", put(out, 1, ""))), "sealed", "1/1 of 4/7 4:0<0", "1/4 of 1/4 sealed 1:0<0"},
		{commits(acks("", 1, put(out, 4, "z")), feeds("b", put(out, 1, ""))), "<nil> [false false] [] []",
			"1/1 of 4/7 4:0<0", "1/4 of 1/4 sealed 1:0<0"},
		{operation{Kind: opDrop}, "<nil> [] [] []", "", ""},
		{takes(delivery{4, 0}), "not found", "", ""},
		{operation{Kind: opMake, Make: shards}, "conflict", "", ""},
	} {
		said := s.apply(c.op, began.Add(time.Duration(i))).said()
		w, back := newWriter(), state{}
		s.code(w)
		back.code(newReader(w.data))
		if got, want := back.kept(), s.kept(); got != want {
			t.Errorf("operation %d: the snapshot has\n%s\twant\n%s", i, got, want)
		}
		var now [2]string
		for k := range s.shards {
			now[k] = s.shards[k].seen(began)
		}
		if said != c.said || now != [2]string{c.first, c.second} {
			t.Errorf("operation %d: %s, then %q\n\twant %s, then %q", i, said, now, c.said,
				[2]string{c.first, c.second})
		}
	}
}

// TestSealOfOneCall: a seal refuses later outputs of its call, also where a unit between them was done before.
func TestSealOfOneCall(t *testing.T) {
	t.Parallel()
	var s state
	put := output{}
	s.apply(operation{Kind: opMake, Make: []store.Shard{{Edge: "e"}}}, time.Time{})
	s.apply(commits(feeds("old", put)), time.Time{})
	out := s.apply(commits(feeds("seal", output{Seal: true}), feeds("old", put), feeds("late", put)), time.Time{})
	if !errors.Is(out.err, store.ErrSealed) || s.shards[0].sealed || s.shards[0].stored != 1 {
		t.Errorf("behind a seal of the same call: %v; sealed %v, %d messages", out.err, s.shards[0].sealed,
			s.shards[0].stored)
	}
}

// TestPick: a call picks the first messages that nobody has, and that no other call of the handle is about to take.
func TestPick(t *testing.T) {
	t.Parallel()
	var s shard
	now := time.Unix(100, 0)
	for number, until := range map[uint64]time.Time{1: now.Add(1), 2: {}, 3: now, 4: {}, 5: {}} { // order-free: they are kept by number
		ordered.Set(&s.waiting, number, &parcel{delivered: number * 10, until: until})
	}
	picked := s.pick(2, now)
	for _, want := range []string{"[[2 20] [3 30]]", "[[4 40] [5 50]]", "[]"} {
		if got := fmt.Sprint(picked); got != want {
			t.Errorf("picked %s, want %s", got, want)
		}
		picked = s.pick(2, now)
	}
	s.unpick([]delivery{{3, 30}, {9, 0}})
	if got := fmt.Sprint(s.pick(9, now.Add(2))); got != "[[1 10] [3 30]]" {
		t.Errorf("picked %s", got)
	}
}

// TestShelf: a shelf keeps what was put there last, as much as there is room for, whatever it was told to forget.
func TestShelf(t *testing.T) {
	t.Parallel()
	var s shelf
	part := make([]byte, shelfBytes/4)
	for i := range 8 {
		s.keep(strconv.Itoa(i), part)
		s.forget(strconv.Itoa(i))
	}
	for i := range 6 {
		s.keep(strconv.Itoa(i), part)
	}
	for i := range 6 {
		if kept := s.get(strconv.Itoa(i)) != nil; kept != (i >= 2) {
			t.Errorf("number %d of 6 is kept: %v", i, kept)
		}
	}
}

// TestCounts: a count in a record of another program is none below zero, and none for which there is no room.
func TestCounts(t *testing.T) {
	t.Parallel()
	x, huge, n := newWriter(), uint64(1<<63+5), 0
	x.uint(&huge)
	if newReader(x.data).int(&n); n < 0 {
		t.Errorf("it is %d", n)
	}
	x, huge = newWriter(), 1<<20
	x.uint(&huge)
	r, all := newReader(x.data), []int(nil)
	if list(r, &all, r.int); len(all) > 0 || r.end() == nil {
		t.Errorf("a list of so many has %d, %v", len(all), r.end())
	}
}

func TestFlawsFit(t *testing.T) { t.Parallel(); mutanttest.Fit(t) }

func TestFlawsAreFound(t *testing.T) {
	mutanttest.AreFound(t, "store/internal/logqueue", "-test.timeout", "8s")
}
