package command

import (
	"os"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/source"
)

// A file that is too large to be a job is not read to its end, and the size of the whole is said.
func TestALargeJob(t *testing.T) {
	p := newPlace(t)
	p.write("large.yaml", "type: noop\n#"+strings.Repeat("x", 3<<20))
	_, stderr, code := p.rota("job", "submit", "--store", "file:store", "large.yaml")
	if code == exitOK || !containsAll(stderr, []string{"large.yaml: 3145740 bytes; a definition has at most 1048576",
		"try: "}) {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

// The jobs that the guide shows are sound.
func TestJobsOfTheGuide(t *testing.T) {
	t.Parallel()
	guide := must.Get(os.ReadFile("../../../docs/guide/jobs.md"))(t)
	types := must.Get(env{}.typesOf(allowed{exec: []string{"/opt/etl/load", "/opt/etl/report"}}, false))(t)
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
