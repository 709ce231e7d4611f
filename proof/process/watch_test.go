package process_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/proof/sim/history"
)

func TestWitness(t *testing.T) {
	t.Parallel()
	w := process.Witness{Path: filepath.Join(t.TempDir(), "a.witness"), Incarnation: 7}
	if got, err := w.Next(); got != nil || err != nil {
		t.Errorf("without a file: %v, %v", got, err)
	}
	f, err := os.Create(w.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, step := range []struct {
		text string
		want []history.Kind
	}{
		{`{"event":"start","member":"a","partition":"x","token":3,"at_ns":1}` + "\n" + `{"event":"st`,
			[]history.Kind{history.Started}},
		{``, nil},
		{`op","member":"a","partition":"x","token":3,"at_ns":2}` + "\n", []history.Kind{history.Stopped}},
	} {
		if _, err := f.WriteString(step.text); err != nil {
			t.Fatal(err)
		}
		got, err := w.Next()
		if err != nil || len(got) != len(step.want) {
			t.Fatalf("after %q: %v, %v", step.text, got, err)
		}
		for i, r := range got {
			if r.Kind != step.want[i] || r.Incarnation != 7 || r.Partition != "x" || r.Token != 3 {
				t.Errorf("after %q: %+v", step.text, r)
			}
		}
	}
	if _, err := f.WriteString("no line\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Next(); err == nil {
		t.Error("a line that is no JSON was read")
	}
}
