package demo

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/proof/must"
)

// TestLive: the table is drawn anew where something has changed, below what is said, and within the width.
func TestLive(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := &Live{To: &out, Width: func() int { return 20 }}
	show := func(tasks ...string) { s.Show([]Row{{"a", "joined", tasks}, {"b", "gone", nil}}) }
	show("x")
	show("x")
	show("y", "a-long-name")
	s.Say(61500*time.Millisecond, "well")
	s.Close()
	want := "  a  ●   1  x\n  b  ○   0  \n" + "UP" + "  a  ●   2  y a-lon\n  b  ○   0  \n" +
		"UP01:01.5  well\n  a  ●   2  y a-lon\n  b  ○   0  \nUP"
	if got := strings.ReplaceAll(out.String(), "\x1b[2A\x1b[J", "UP"); got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// TestWorst: one round that was not well is not made good by the next, and a part of a millisecond is one.
func TestWorst(t *testing.T) {
	t.Parallel()
	got := Worst([]Report{{Members: 3, Moves: 1, CrashGapMS: 9, Overlaps: 2, OK: false},
		{Members: 3, Moves: 1, CrashGapMS: 1, OK: true}})
	if want := (Report{Members: 3, Moves: 2, CrashGapMS: 9, Overlaps: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := LongestGapMS([]Move{{GapNS: 500_000_001}}); got != 501 {
		t.Errorf("a gap of more than 500 ms is %d ms", got)
	}
}

// TestALineThatIsBeingWritten is read when it is whole.
func TestALineThatIsBeingWritten(t *testing.T) {
	t.Parallel()
	p := &Play{dir: t.TempDir()}
	must.Succeed(t, os.WriteFile(p.witness("b"), []byte("{\"partition\":\"x\"}\n{\"part"), 0o600))
	if lines, err := p.readLines(); err != nil || len(lines) != 1 || lines[0].Partition != "x" {
		t.Errorf("%+v, %v", lines, err)
	}
}

// A run that was stopped does not go on, though it had started; one that was started again does.
func TestRunning(t *testing.T) {
	t.Parallel()
	var lines []node.WitnessLine
	for _, l := range []struct {
		event, partition string
		token            uint64
	}{
		{"join", "", 1}, {"start", "x", 2}, {"start", "y", 3}, {"stop", "x", 2}, {"stop", "y", 3}, {"start", "y", 3},
		{"start", "x", 4}, {"act", "z", 5},
	} {
		lines = append(lines, node.WitnessLine{Event: l.event, Partition: l.partition, Token: l.token})
	}
	if got, want := running(lines), (map[run]bool{{"x", 4}: true, {"y", 3}: true}); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSaid(t *testing.T) {
	t.Parallel()
	p := &Play{dir: t.TempDir()}
	for text, want := range map[string]string{"one\ntwo\n\n": `ends with "two"`, "one": `ends with "one"`,
		"\n": "is empty"} {
		must.Succeed(t, os.WriteFile(filepath.Join(p.dir, "a.log"), []byte(text), 0o600))
		if got := p.said("a"); !strings.HasSuffix(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := p.said("b"); !strings.HasPrefix(got, "its log cannot be read: ") {
		t.Errorf("no log: got %q", got)
	}
}
