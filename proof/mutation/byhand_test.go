package main

import (
	"context"
	"path"
	"reflect"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/mutant"
)

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := parse(`# A remark.
fault: it forgets
file: p/q/a.go
-	one
-	two
+	three
-four
+

fault: it is late
file: p/b.go
tests: ./p ./r
# missed: nobody waits
# another remark
-x: y
+x: z
`)
	must.Succeed(t, err)
	want := []listed{
		{Flaw: mutant.New("it forgets", "p/q/a.go", "\tone\n\ttwo", "\tthree", "four", ""),
			packages: []string{"./p/q"}},
		{Flaw: mutant.New("it is late", "p/b.go", "x: y", "x: z"), packages: []string{"./p", "./r"},
			missed: "nobody waits"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, bad := range []string{
		"file: a.go\n", "fault: a\nfile: a.go\n", "fault: a\n-b\n+c\n", "fault: a\nfile: a.go\n+c\n",
		"fault: a\nfile: a.go\nwhy: b\n-b\n+c\n",
	} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// TestListsFit: each fault of each list can still be laid over the source, and each that nobody can see is one.
func TestListsFit(t *testing.T) {
	t.Parallel()
	root, err := mutant.Root(context.Background())
	must.Succeed(t, err)
	for _, area := range areas() {
		list, err := readArea(area)
		must.Succeed(t, err)
		if err := setOf(list).Check(root); err != nil {
			t.Errorf("%s: %v", area, err)
		}
	}
	for line := range strings.SplitSeq(equivalents, "\n") {
		if file, _, _ := strings.Cut(line, ": "); strings.HasSuffix(file, ".go") {
			if _, err := without(must.Get(read(root, file))(t), line, path.Dir(file)); err != nil {
				t.Error(err)
			}
		}
	}
}
