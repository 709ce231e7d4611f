package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// What docs/guide/inputs.md says under "Try it" works as it is written there.
func TestTheGuideOnInputs(t *testing.T) {
	t.Parallel()
	page := must.Get(os.ReadFile("../../docs/guide/inputs.md"))(t)
	_, text, _ := strings.Cut(string(page), "## Try it\n")
	_, text, _ = strings.Cut(text, "\n```\n")
	text, _, ok := strings.Cut(text, "```\n")
	if !ok || !strings.Contains(text, "go run ./examples/files") {
		t.Fatalf("the page has no such block: %q", text)
	}
	dir := t.TempDir()
	cmd := exec.Command("bash", "-eu", "-c",
		strings.ReplaceAll(text, "go run ./examples/files", filepath.Join(programs, "files")))
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"made \"./sums\"", "done \"one.txt\"", "done \"two.txt\""} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not print %q:\n%s", want, out)
		}
	}
	if sums, err := filepath.Glob(filepath.Join(dir, "sums", "*")); err != nil || len(sums) != 2 {
		t.Errorf("sums: %q, %v", sums, err)
	}
}

// A missing folder is no silence.
func TestFilesWithoutFolders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-in", "./photos", "-out", "./sums"}, `-in "./photos" is not a directory; try: mkdir ./photos`},
		{[]string{"-in", "."}, "no -out; try: -out ./sums"},
	} {
		cmd := exec.Command(filepath.Join(programs, "files"), append(c.args, "-member", "a")...)
		cmd.Dir = t.TempDir()
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%q: %v\n%s", c.args, err, out)
		}
	}
}
