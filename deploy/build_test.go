package deploy_test

import (
	"crypto/sha256"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// coldVariable asks for a second build with an empty cache: minutes.
const coldVariable = "ROTA_TEST_COLD"

// TestReproducible builds the same files in another folder: the bytes are the same.
func TestReproducible(t *testing.T) {
	t.Parallel()
	elsewhere := filepath.Join(t.TempDir(), "another", "folder")
	succeed(t, os.MkdirAll(elsewhere, 0o750))
	list := exec.Command("git", "-C", "..", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--",
		"*.go", "*go.mod", "*go.sum", "internal/api/page", "deploy/build", "docs", "examples")
	files, err := list.Output()
	succeed(t, err)
	for _, name := range strings.Split(strings.TrimRight(string(files), "\x00"), "\x00") {
		copyFile(t, filepath.Join("..", name), filepath.Join(elsewhere, name))
	}
	var sums [2][32]byte
	for i, dir := range []string{"..", elsewhere} {
		out := filepath.Join(t.TempDir(), "rota")
		cmd := exec.Command(filepath.Join(dir, "deploy", "build"), out)
		cmd.Env = append(os.Environ(), "VERSION=9.9.9", "REVISION=feedfeedfeed")
		if i == 1 && os.Getenv(coldVariable) != "" {
			cmd.Env = append(cmd.Env, "GOCACHE="+t.TempDir())
		}
		must(t, cmd)
		sums[i] = sha256.Sum256([]byte(read(t, out)))
		var said map[string]string
		if err := json.Unmarshal([]byte(must(t, exec.Command(out, "version", "-o", "json"))), &said); err != nil ||
			said["version"] != "9.9.9" || said["revision"] != "feedfeedfeed" {
			t.Errorf("it says %v, %v", said, err)
		}
		if text := read(t, out); strings.Contains(text, elsewhere) {
			t.Errorf("the binary has the name of the folder %s in it", elsewhere)
		}
	}
	if sums[0] != sums[1] {
		t.Errorf("%x here, %x in another folder", sums[0], sums[1])
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if err != nil {
		return // deleted and not yet committed
	}
	succeed(t, os.MkdirAll(filepath.Dir(to), 0o750))
	succeed(t, os.WriteFile(to, []byte(read(t, from)), info.Mode()))
}

// TestVersionOfThisCommit: the binary says which commit it is.
func TestVersionOfThisCommit(t *testing.T) {
	t.Parallel()
	commit := strings.TrimSpace(must(t, exec.Command("git", "rev-parse", "--short=12", "HEAD")))
	if out := must(t, exec.Command(rota, "version")); !strings.Contains(out, "(commit "+commit) {
		t.Errorf("want commit %s in %s", commit, out)
	}
}

// TestNotes takes the part of a version out of a changelog.
func TestNotes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "CHANGELOG.md")
	text := "# Changelog\n\n## [Unreleased]\n\n### Added\n- new\n\n## [0.2.0] - 2026-11-22\n\n### Fixed\n- two\n\n## [0.1.0] - 2026-01-01\n- one\n\n[0.2.0]: https://example.org\n"
	succeed(t, os.WriteFile(file, []byte(text), 0o600))
	for version, want := range map[string]string{
		"0.2.0": "# Rota 0.2.0\n\n### Fixed\n- two\n", "0.1.0": "# Rota 0.1.0\n\n- one\n",
		"0.3.0": "# Rota 0.3.0\n\n### Added\n- new\n",
	} {
		if got := must(t, exec.Command("./notes", version, file)); got != want {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
	if out, err := exec.Command("./notes", "1.0.0", os.DevNull).CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "neither a part [1.0.0]") {
		t.Errorf("%v: %s", err, out)
	}
	if got := must(t, exec.Command("./notes", "0.1.0")); !strings.Contains(got, "### ") || len(got) < 1000 {
		t.Errorf("the notes of this changelog are %q", got)
	}
}
