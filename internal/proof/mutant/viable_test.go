package mutant_test

import (
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/mutant"
)

// TestViableFlawsAreBuilt: flaws that the compiler refuses are left out, however many there are, and the others can be
// chosen.
func TestViableFlawsAreBuilt(t *testing.T) {
	t.Parallel()
	flaws := mutant.Set{
		mutant.New("no such name", "sum/sum.go", "a + b", "a + d"),
		set[0],
		mutant.New("text", "sum/sum.go", "a + b", `"a" + b`),
		mutant.New("nothing to return", "sum/sum.go", "a + b\n\treturn", "a + b\n\treturn 1, 2"),
	}
	for range 12 { // the compiler stops after ten complaints unless it is told not to
		f := flaws[2]
		f.Name += " again" + strings.Repeat("!", len(flaws))
		flaws = append(flaws, f)
	}
	viable, program, err := flaws.BuildViable(t.Context(), module(t), t.TempDir(), "example.com/m/sum")
	must.Succeed(t, err)
	if len(viable) != 1 || viable[0].Name != "minus" {
		t.Fatalf("%d flaws were built: %v", len(viable), viable)
	}
	environ, err := viable.Environ("minus")
	must.Succeed(t, err)
	if got := run(t, program, environ); !strings.Contains(got, "--- FAIL: TestOf") {
		t.Errorf("with the flaw it prints %q", got)
	}
}

// TestABrokenSourceIsNobodysFlaw: what the compiler says of the source itself is an error.
func TestABrokenSourceIsNobodysFlaw(t *testing.T) {
	t.Parallel()
	if _, _, err := (mutant.Set{set[0]}).BuildViable(t.Context(), module(t), t.TempDir(),
		"example.com/m/product"); err == nil {
		t.Error("a package that is not there was built")
	}
}
