package demo

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/rota-run/rota/internal/node"
)

// TestJudge runs the scripts in testdata. Times are in ms.
//
//	judge tasks=(x,y)
//	10 a start x 1
//	20 crash a fewest=1
//	25 b start x 2
//	30 end
//	----
//	…
//
// With the argument inside the members are inside one process; polled and silent are the fields of Server.
func TestJudge(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var tasks []string
			for _, a := range d.CmdArgs {
				if a.Key == "tasks" {
					tasks = a.Vals
				}
			}
			var o Options
			if d.HasArg("inside") {
				o.Server = &Server{Inside: &Inside{}}
			}
			if d.HasArg("polled") || d.HasArg("silent") {
				o.Server = &Server{Polled: d.HasArg("polled"), Silent: d.HasArg("silent")}
			}
			acts, lines := script(t, d.Input)
			return Judge(o, 3, tasks, acts, lines).String() + "\n"
		})
	})
}

func script(t *testing.T, text string) (acts []Act, lines []node.WitnessLine) {
	t.Helper()
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		var at int64
		if _, err := fmt.Sscan(f[0], &at); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		at *= 1_000_000
		switch k := Kind(f[1]); k {
		case Crash, Suspend, Leave, Join:
			a := Act{Kind: k, Member: f[2], AtNS: at}
			if _, err := fmt.Sscanf(f[3], "fewest=%d", &a.Fewest); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			acts = append(acts, a)
		case End:
			acts = append(acts, Act{Kind: k, AtNS: at})
		default:
			l := node.WitnessLine{AtNS: at, Member: f[1], Event: f[2], Partition: f[3]}
			if _, err := fmt.Sscan(f[4], &l.Token); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			lines = append(lines, l)
		}
	}
	return acts, lines
}

// overlapsSlowly is the dumb twin of Overlaps without acts: it looks at every instant.
func overlapsSlowly(runs []Interval) bool {
	for at := int64(0); at < 100; at++ {
		on := map[string]string{}
		for _, r := range runs {
			if r.FromNS > at || at >= r.ToNS {
				continue
			}
			if m, ok := on[r.Partition]; ok && m != r.Member {
				return true
			}
			on[r.Partition] = r.Member
		}
	}
	return false
}

func TestOverlapsAgreesWithItsDumbTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var lines []node.WitnessLine
		for token := range rapid.IntRange(0, 8).Draw(t, "runs") {
			from := rapid.Int64Range(0, 40).Draw(t, "from")
			l := node.WitnessLine{
				AtNS: from, Event: "start", Token: uint64(token + 1),
				Member:    rapid.SampledFrom([]string{"a", "b"}).Draw(t, "member"),
				Partition: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "partition"),
			}
			lines = append(lines, l)
			if rapid.Bool().Draw(t, "stops") {
				l.Event, l.AtNS = "stop", from+rapid.Int64Range(1, 20).Draw(t, "length")
				lines = append(lines, l)
			}
		}
		runs := Intervals(lines, nil)
		if got, want := Overlaps(runs, nil) > 0, overlapsSlowly(runs); got != want {
			t.Fatalf("overlap: got %v, want %v, runs %+v", got, want, runs)
		}
	})
}
