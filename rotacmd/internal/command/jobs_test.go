package command

import (
	"os"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/lease"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/store/file"
)

// A file that is too large to be a job is not read to its end, and the size of the whole is said.
func TestALargeJob(t *testing.T) {
	p := newPlace(t)
	p.write("large.yaml", "type: noop\n#"+strings.Repeat("x", 3<<20))
	_, stderr, code := p.rota("job", "submit", "--store", "file:store", "large.yaml")
	if code == exitOK || !containsAll(stderr, []string{"large.yaml: 3145740 bytes; a definition has at most 1048576", "try: "}) {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

// TestSubmitBeforeAnyMember: who writes first names the protocol of a place. What was accepted is there for its members, and others are refused.
func TestSubmitBeforeAnyMember(t *testing.T) {
	p := newPlace(t)
	p.write("a.yaml", "type: noop\n")
	for _, at := range []protocol.Protocol{replica.Protocol{}, lease.Protocol{}} { // under the others it waits for members
		store := "file:" + at.Name()
		st, err := file.Open(t.Context(), at.Name(), file.Options{})
		must.Succeed(t, err)
		defer st.Close()
		_, stderr, code := p.rota("job", "submit", "--store", store, "--protocol", at.Name(), "a.yaml")
		if code != exitOK {
			t.Fatalf("%s: exit %d, %s", at.Name(), code, stderr)
		}
		for _, other := range protocols() {
			_, stderr, code := p.rota("job", "submit", "--store", store, "--protocol", other.Name(), "--id", "b", "a.yaml")
			if want := []string{"the cluster uses the protocol \"" + at.Name() + "\"", "try: --protocol " + at.Name()}; other.Name() != at.Name() && other.Fits(st) == nil && (code != exitFailed || !containsAll(stderr, want)) {
				t.Errorf("%s at a place of %s: exit %d, %s", other.Name(), at.Name(), code, stderr)
			}
		}
		if _, stderr, code := p.rota("log", "list", "--store", store); at.Name() == "lease" && (code != exitFailed || !containsAll(stderr, []string{"keeps no log", "try: rota events"})) {
			t.Errorf("the log of lease: exit %d, %s", code, stderr)
		}
		if stdout, _, _ := p.rota("job", "list", "--store", store); !strings.Contains(stdout, "a ") {
			t.Errorf("%s: the job is not there:\n%s", at.Name(), stdout)
		}
	}
}

// The jobs that the guide shows are sound.
func TestJobsOfTheGuide(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../../docs/guide/jobs.md")
	must.Succeed(t, err)
	types, err := env{}.typesOf(allowed{exec: []string{"/opt/etl/load", "/opt/etl/report"}}, false)
	must.Succeed(t, err)
	blocks := strings.Split(string(guide), "```yaml\n")[1:]
	for i, b := range blocks {
		text, _, _ := strings.Cut(b, "```")
		if _, _, err := source.ParseJob("job.yaml", []byte(text), types, new(submission).accepts); err != nil {
			t.Errorf("block %d: %v", i, err)
		}
	}
	if len(blocks) != 2 {
		t.Errorf("%d jobs were read, want 2", len(blocks))
	}
}
