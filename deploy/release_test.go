package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestArchive unpacks the archive of this tree's version, for which the changelog must have notes, into an empty
// folder, from which it can't get out, and types what README.md has for checks: a member, a second one, kill -9 of the
// first, and three looks.
func TestArchive(t *testing.T) {
	t.Parallel()
	dist, platform := filepath.Join(t.TempDir(), "dist"), runtime.GOOS+"/"+runtime.GOARCH
	release := exec.Command("./release", platform)
	release.Env = append(os.Environ(), "DIST="+dist)
	must(t, release)
	sums := exec.Command("sha256sum", "-c", "SHA256SUMS")
	sums.Dir = dist
	must(t, sums)
	version := strings.Fields(must(t, exec.Command(rota, "version")))[1]
	name := "rota-" + version + "-" + strings.Replace(platform, "/", "-", 1)
	root := t.TempDir()
	must(t, exec.Command("tar", "-C", root, "--strip-components=1", "-xzf", filepath.Join(dist, name+".tar.gz")))
	for _, file := range []string{"LICENSE", "man1/rota-run.1", "completions/rota.bash",
		"licences/github.com/spf13/cobra/LICENSE.txt"} {
		if len(read(t, filepath.Join(root, file))) == 0 {
			t.Errorf("%s is empty", file)
		}
	}
	inside := func(line string) *exec.Cmd {
		words := strings.Fields(line)
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir, cmd.Env = root, []string{"HOME=/"}
		if os.Geteuid() == 0 {
			cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Chroot: root}
		} else {
			t.Log("not as root: the folder is no root of its own")
		}
		return cmd
	}
	if said := must(t, inside("./rota version")); !strings.HasPrefix(said, "rota "+version+" ") {
		t.Errorf("it says %s", said)
	}
	run, looks := typedForChecks(t)
	first := begin(t, inside(run))
	second := begin(t, inside(run))
	await(t, "each has tasks", func() bool {
		out := must(t, inside(looks[0]))
		return owns(out, first) && owns(out, second)
	})
	succeed(t, first.cmd.Process.Kill())
	await(t, "the second has all tasks", func() bool {
		out := must(t, inside(looks[0]))
		return !owns(out, first) && owns(out, second)
	})
	for i, want := range []string{memberOf(second), "members 1 · tasks 9"} {
		if out := must(t, inside(looks[1+i])); !strings.Contains(out, want) {
			t.Errorf("%s does not say %q:\n%s", looks[1+i], want, out)
		}
	}
	second.leave(t)
}

// typedForChecks are the lines with ./rota on the first screen of README.md.
func typedForChecks(t *testing.T) (run string, looks []string) {
	t.Helper()
	_, part, _ := strings.Cut(read(t, "../README.md"), "\n## Checks\n")
	part, _, _ = strings.Cut(part, "\n## ")
	lines := regexp.MustCompile(`(?m)^\./rota .*$`).FindAllString(part, -1)
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "./rota run ") ||
		!strings.HasPrefix(lines[1], "./rota task list ") {
		t.Fatalf("README.md has these lines for checks: %q", lines)
	}
	return lines[0], lines[1:]
}

// begin starts a member and waits for its first sample.
func begin(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	began := time.Now()
	p := start(t, cmd)
	p.awaitSaid(t, `{"name":`)
	t.Logf("%s: first sample after %d ms", memberOf(p), time.Since(began).Milliseconds())
	return p
}

var banner = regexp.MustCompile(`(?m)^rota \S+ · member (\S+) `)

func memberOf(p *process) string {
	if m := banner.FindStringSubmatch(p.output()); m != nil {
		return m[1]
	}
	return "nobody"
}

// owns tells whether a list of tasks names a member.
func owns(list string, p *process) bool { return strings.Contains(list, memberOf(p)) }
