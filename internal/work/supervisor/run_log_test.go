package supervisor

import (
	"bytes"
	"log/slog"
	"testing"
)

// TestTheLogOfARunNamesIt: however it is used, it says which partition and token it is about, and nothing below the level of the member's log.
func TestTheLogOfARunNamesIt(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	omit := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	s := &Supervisor{log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: omit})).With("member", "m")}
	r := &run{s: s, granted: granted{id: "p#1", token: 7}}
	log := r.log()
	log.Info("one", "x", 1)
	log.Debug("none")
	log.With("y", 2).Info("two")
	log.WithGroup("g").Info("three", "z", 3)
	want := `level=INFO msg=one member=m partition=p#1 token=7 x=1
level=INFO msg=two member=m partition=p#1 token=7 y=2
level=INFO msg=three member=m partition=p#1 token=7 g.z=3
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", &out, want)
	}
}
