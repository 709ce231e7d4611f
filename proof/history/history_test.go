package history

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
)

// TestDecide runs the scripts in testdata: a history, and what is decided of it. Times are in ms.
//
//	decide gap=1000 wake=50 end=3000
//	0 accepted x
//	0 granted a x 1
//	10 started a.1 x 1
//	500 killed a.1
//	700 started b.1 x 2
//	excused 500 600 store away
//	promise x items=3 overlaps
//	----
//	…
func TestDecide(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			h := script(t, d)
			report := Decide(h)
			if again := Decide(shuffled(h)); !reflect.DeepEqual(again, report) {
				t.Errorf("%s: another order of the same records: %+v, want %+v", d.Pos, again, report)
			}
			return show(report)
		})
	})
}

func script(t *testing.T, d *datadriven.TestData) History {
	t.Helper()
	var h History
	for _, a := range d.CmdArgs {
		n := must.Get(strconv.ParseInt(a.Vals[0], 10, 64))(t)
		switch n *= int64(time.Millisecond); a.Key {
		case "gap":
			h.Bounds.Gap = time.Duration(n)
		case "lease":
			h.Bounds.Lease = time.Duration(n)
		case "wake":
			h.Bounds.Wake = time.Duration(n)
		case "end":
			h.End = n
		}
	}
	for text := range strings.Lines(d.Input) {
		f := strings.Fields(text)
		switch f[0] {
		case "stall":
			h.Stalls = append(h.Stalls, Span{From: at(t, f[1]), To: at(t, f[2])})
		case "helpless":
			h.Helpless = append(h.Helpless, Span{From: at(t, f[1]), To: at(t, f[2])})
		case "excused":
			h.Excused = append(h.Excused, Span{From: at(t, f[1]), To: at(t, f[2]), Why: strings.Join(f[3:], " ")})
		case "promise":
			p := Promise{Partition: cluster.PartitionID(f[1]), Overlaps: slices.Contains(f, "overlaps")}
			for _, x := range f {
				fmt.Sscanf(x, "items=%d", &p.Items)
			}
			h.Promises = append(h.Promises, p)
		default:
			h.Records = append(h.Records, record(t, f))
		}
	}
	return h
}

func at(t *testing.T, ms string) int64 {
	t.Helper()
	n := must.Get(strconv.ParseInt(ms, 10, 64))(t)
	return n * int64(time.Millisecond)
}

func record(t *testing.T, f []string) Record {
	t.Helper()
	k, ok := ParseKind(f[1])
	if !ok {
		t.Fatalf("%q: no such kind", f)
	}
	r := Record{At: at(t, f[0]), Kind: k}
	rest := f[2:]
	if k < Accepted || k > Parked {
		name, start, _ := strings.Cut(rest[0], ".")
		r.Member = cluster.MemberID(strings.TrimPrefix(name, "-"))
		fmt.Sscan(start, &r.Incarnation)
		rest = rest[1:]
	}
	if k >= Accepted {
		r.Partition = cluster.PartitionID(rest[0])
		rest = rest[1:]
	}
	for _, x := range rest {
		if n, err := strconv.ParseUint(x, 10, 64); err == nil {
			r.Token = cluster.Token(n)
		} else if _, err := fmt.Sscanf(x, "item=%d", &r.Item); err != nil {
			t.Fatalf("%q: %q is no token and no item", f, x)
		}
	}
	return r
}

// shuffled is the history with its records in another order, those of the log and of resources in place among
// themselves.
func shuffled(h History) History {
	ordered := func(r Record) bool { return r.Kind == Granted || r.Kind == Acted || r.Kind == Refused }
	// Records of one instant and one subject keep their order too: what happened first is not known from elsewhere.
	var fixed, free []Record
	for _, r := range h.Records {
		if ordered(r) {
			fixed = append(fixed, r)
		} else {
			free = append(free, r)
		}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(free), func(i, j int) {
		if free[i].At != free[j].At {
			free[i], free[j] = free[j], free[i]
		}
	})
	h.Records = append(fixed, free...)
	return h
}

func show(r Report) string {
	var b strings.Builder
	for _, v := range r.Violations {
		fmt.Fprintln(&b, v)
	}
	if r.OK() {
		fmt.Fprintln(&b, "kept")
	}
	fmt.Fprintf(&b, "gap %s silence %s of %s overlap %s", r.LongestGap, r.LongestSilence, r.Wanted, r.LongestOverlap)
	if r.Silent != r.LongestSilence {
		fmt.Fprintf(&b, " · silent %s", r.Silent)
	}
	var helpless, asleep time.Duration
	for _, s := range r.Silences {
		helpless, asleep = helpless+s.Helpless, asleep+s.Asleep
	}
	if helpless+asleep > 0 {
		fmt.Fprintf(&b, " · of that helpless %s, asleep %s", helpless, asleep)
	}
	for _, n := range []struct {
		word  string
		count int
	}{{"overlaps", r.Overlaps}, {"excused", r.ExcusedPairs}, {"runs", r.Runs}, {"moves", r.Moves}, {"acts", r.Acts},
		{"refused", r.Refused}, {"items", r.Items}} {
		if n.count > 0 {
			fmt.Fprintf(&b, " · %s %d", n.word, n.count)
		}
	}
	return b.String() + "\n"
}

// healthy draws a history that keeps all promises: each partition goes from one owner to the next, with a stop or a
// kill before each start.
func healthy(t *rapid.T) History {
	const ms = int64(time.Millisecond)
	h := History{Bounds: Bounds{Gap: 100 * time.Millisecond, Wake: 5 * time.Millisecond}}
	now, token, start := int64(0), uint64(0), uint64(0)
	h.Records = append(h.Records, Record{Kind: Accepted, Partition: "x"})
	for range rapid.IntRange(1, 6).Draw(t, "runs") {
		now += rapid.Int64Range(1, 100).Draw(t, "gap") * ms
		token += rapid.Uint64Range(1, 5).Draw(t, "token")
		start++
		r := Record{At: now, Member: rapid.SampledFrom([]cluster.MemberID{"a", "b", "c"}).Draw(t, "member"),
			Incarnation: start, Partition: "x", Token: cluster.Token(token)}
		add := func(k Kind, after int64) {
			r.Kind, r.At = k, now+after*ms
			h.Records = append(h.Records, r)
		}
		add(Granted, 0)
		add(Started, 0)
		length := rapid.Int64Range(1, 200).Draw(t, "length")
		add(Acted, rapid.Int64Range(0, length).Draw(t, "act"))
		now += length * ms
		if rapid.Bool().Draw(t, "killed") {
			h.Records = append(h.Records, Record{At: now, Kind: Killed, Member: r.Member, Incarnation: r.Incarnation})
		} else {
			add(Stopped, 0)
		}
	}
	now += ms
	token++
	last := Record{At: now, Member: "z", Incarnation: 99, Partition: "x", Token: cluster.Token(token)}
	for _, k := range []Kind{Granted, Started, Acted} {
		last.Kind = k
		h.Records = append(h.Records, last)
	}
	h.End = now + 10*ms
	return h
}

func TestHealthyHistoriesAreKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := healthy(t)
		if r := Decide(h); !r.OK() {
			t.Fatalf("violations %v\nof %v", r.Violations, h.Records)
		}
	})
}

// TestSpoiltHistoriesAreFound takes a healthy history and breaks one promise.
func TestSpoiltHistoriesAreFound(t *testing.T) {
	t.Parallel()
	spoil := []struct {
		promise string
		how     func(t *rapid.T, h *History)
	}{
		{"G1", func(_ *rapid.T, h *History) { // somebody else is granted the last token too
			r := h.Records[len(h.Records)-3]
			r.Member = "y"
			h.Records = append(h.Records, r)
		}},
		{"G2", func(t *rapid.T, h *History) { // a run that nobody stops begins somewhere
			h.Records = append(h.Records, Record{At: rapid.Int64Range(0, h.End-1).Draw(t, "at"), Kind: Started,
				Member: "y", Incarnation: 50, Partition: "x", Token: 1000})
		}},
		{"G3", func(_ *rapid.T, h *History) { // the first owner's act comes last
			i := slices.IndexFunc(h.Records, func(r Record) bool { return r.Kind == Acted })
			h.Records = append(slices.Delete(slices.Clone(h.Records), i, i+1), h.Records[i])
		}},
		{"G4", func(_ *rapid.T, h *History) { h.Bounds.Gap = 1 }},
		{"G5", func(_ *rapid.T, h *History) {
			h.Records = append(h.Records, Record{At: h.End, Kind: Killed, Member: "z", Incarnation: 99})
		}},
	}
	for _, s := range spoil {
		t.Run(s.promise, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				h := healthy(t)
				s.how(t, &h)
				r := Decide(h)
				if !slices.ContainsFunc(r.Violations,
					func(v Violation) bool { return v.Promise == s.promise && len(v.Records) > 0 }) {
					t.Fatalf("no violation of %s: %v\nin %v", s.promise, r.Violations, h.Records)
				}
			})
		})
	}
}

func TestReadLines(t *testing.T) {
	t.Parallel()
	text := `{"at_ns":5,"event":"join","member":"a","token":7}
{"at_ns":6,"event":"lunch","member":"a"}
{"at_ns":10,"event":"start","member":"a","partition":"x","token":8}
{"member":"a","token":8,"partition":"x","at_ns":11,"event":"act","item":2}
{"at_ns":12,"event":"stop","member":"a","partition":"x","token":8}
{"at_ns":13,"event":"sta`
	got, torn, err := ReadLines([]byte(text), 3)
	want := []Record{
		{At: 5, Kind: Joined, Member: "a", Incarnation: 3},
		{At: 10, Kind: Started, Member: "a", Incarnation: 3, Partition: "x", Token: 8},
		{At: 11, Kind: Acted, Member: "a", Incarnation: 3, Partition: "x", Token: 8, Item: 2},
		{At: 12, Kind: Stopped, Member: "a", Incarnation: 3, Partition: "x", Token: 8},
	}
	if err != nil || torn != 1 || !slices.Equal(got, want) {
		t.Errorf("got %v, torn %d, %v; want %v, torn 1", got, torn, err, want)
	}
	if _, _, err := ReadLines([]byte("{}\nnonsense\n"), 0); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a line that is none: %v", err)
	}
}

func TestDeserted(t *testing.T) {
	t.Parallel()
	a := func(at int64, k Kind) Record { return Record{At: at, Kind: k, Member: "a", Incarnation: 1} }
	b := func(at int64, k Kind) Record { return Record{At: at, Kind: k, Member: "b", Incarnation: 1} }
	records := []Record{
		a(0, Began), a(10, Joined), b(15, Began), b(20, Joined), a(30, Suspended), b(40, Killed), a(50, Resumed),
		a(60, Left), a(70, Joined), a(80, Exited),
	}
	for _, those := range []struct {
		spans []Span
		want  []string
	}{
		{Deserted(records, 100), []string{"0-10", "40-50", "60-70", "80-100"}},
		{Unmanned(records, 100), []string{"40-50", "80-100"}},
	} {
		var got []string
		for _, s := range those.spans {
			got = append(got, fmt.Sprintf("%d-%d", s.From, s.To))
		}
		if !slices.Equal(got, those.want) {
			t.Errorf("got %v, want %v", got, those.want)
		}
	}
	if got := Deserted(nil, 100); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

func TestFenceRefusesSmallerTokens(t *testing.T) {
	t.Parallel()
	acts := []Record{
		{Kind: Acted, Partition: "x", Token: 5}, {Kind: Acted, Partition: "y", Token: 3},
		{Kind: Acted, Partition: "x", Token: 4},
		{Kind: Acted, Partition: "x", Token: 5}, {Kind: Acted, Partition: "x", Token: 6},
	}
	var refused []int
	for i, r := range Fence(acts) {
		if r.Kind == Refused {
			refused = append(refused, i)
		}
	}
	if !slices.Equal(refused, []int{2}) || acts[2].Kind != Acted {
		t.Errorf("refused %v, want the third; what was given must stay as it is", refused)
	}
}

func TestKindsHaveWords(t *testing.T) {
	t.Parallel()
	for k := Began; k <= Refused; k++ {
		if got, ok := ParseKind(k.String()); !ok || got != k {
			t.Errorf("%d is %q, which is read as %d, %v", k, k, got, ok)
		}
	}
}
