package deploy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestImageByHand takes the last stage of the Dockerfile step by step, without a daemon: the same files, the same user,
// a root that cannot be written to. The member joins, its health check says so, and SIGTERM makes it leave gracefully.
func TestImageByHand(t *testing.T) {
	t.Parallel()
	root, data := t.TempDir(), t.TempDir()
	steps := parseDockerfile(t, root)
	if err := os.Chown(data, 65532, 65532); err != nil {
		t.Skipf("this process may not give a folder to another user: %v", err)
	}
	for _, dir := range []string{root, data, filepath.Dir(root)} {
		if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the other user reads it
			t.Fatal(err)
		}
	}
	inside := func(args ...string) *exec.Cmd {
		script := `set -e; r=$1 d=$2; shift 2; mount --make-rprivate /; mount --bind "$r" "$r"; mount --bind "$d" "$r/data"; mount -o remount,bind,ro "$r"; cd "$r"; exec chroot --userspec=` + steps.user + ` "$r" "$@"`
		cmd := exec.Command("unshare", append([]string{"--mount", "sh", "-c", script, "sh", root, data}, args...)...)
		cmd.Env = []string{"HOME=" + steps.env["HOME"]}
		return cmd
	}
	if out, err := inside(append(slices.Clone(steps.entry), "version")...).CombinedOutput(); err != nil {
		if strings.Contains(string(out), "Operation not permitted") ||
			strings.Contains(string(out), "must be superuser") {
			t.Skipf("this process may not mount: %s", out)
		}
		t.Fatalf("%v: %s", err, out)
	}
	address := "127.0.0.1:" + freePort(t)
	member := start(t, inside(append(slices.Clone(steps.entry), "run", "--store", "file:/data/store", "--member", "a",
		"--listen", address)...))
	member.awaitSaid(t, "joined as the first member")
	if steps.health[0] != "/usr/bin/rota" || steps.health[1] != "health" {
		t.Fatalf("the health check is %q", steps.health)
	}
	if out := must(t, inside(append(slices.Clone(steps.health), "http://"+address)...)); !strings.HasPrefix(out,
		"ok: member a of ") {
		t.Errorf("health says %q", out)
	}
	status := must(t, exec.Command("cat", fmt.Sprintf("/proc/%d/status", member.cmd.Process.Pid)))
	if !regexp.MustCompile(`(?m)^Uid:\s+65532\s+65532\s+65532\s+65532$`).MatchString(status) ||
		!regexp.MustCompile(`(?m)^CapEff:\s+0+$`).MatchString(status) {
		t.Errorf("it is not an ordinary user:\n%s", status)
	}
	if out, err := inside(append(slices.Clone(steps.entry), "run", "--store", "file:/store", "--listen",
		"none")...).CombinedOutput(); err == nil || !strings.Contains(string(out), "read-only file system") {
		t.Errorf("it writes to its root: %v: %s", err, out)
	}
	member.leave(t)
}

// image is what the last stage of a Dockerfile says.
type image struct {
	user          string
	entry, health []string
	env           map[string]string
}

// parseDockerfile copies what the last stage copies, and refuses an instruction that it does not know.
func parseDockerfile(t *testing.T, root string) image {
	t.Helper()
	text := read(t, "Dockerfile")
	if !strings.Contains(text, "RUN deploy/build /out/rota") {
		t.Error("the image is not built by deploy/build, as the binary of this test is")
	}
	_, last, ok := strings.Cut(text, "\nFROM scratch\n")
	if !ok {
		t.Fatal("the last stage is not scratch")
	}
	built := map[string]string{"/etc/ssl/certs/ca-certificates.crt": "/etc/ssl/certs/ca-certificates.crt",
		"/out/rota": rota, "/out/data": t.TempDir()}
	out := image{env: map[string]string{}}
	for line := range strings.Lines(last) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		words := strings.Fields(rest)
		switch name {
		case "":
		case "COPY":
			from, to := built[words[len(words)-2]], filepath.Join(root, words[len(words)-1])
			if from == "" {
				t.Fatalf("nobody has made %s", words[len(words)-2])
			}
			if info, err := os.Stat(from); err == nil && info.IsDir() {
				if err := os.MkdirAll(to, 0o755); err != nil { //nolint:gosec // as in an image
					t.Fatal(err)
				}
				continue
			}
			copyFile(t, from, to)
			for dir := filepath.Dir(to); dir != root; dir = filepath.Dir(dir) {
				if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // as in an image
					t.Fatal(err)
				}
			}
		case "USER":
			out.user = rest
		case "ENTRYPOINT":
			out.entry = list(rest)
		case "HEALTHCHECK":
			out.health = list(rest[strings.Index(rest, "CMD ")+4:])
		case "ENV":
			key, value, _ := strings.Cut(rest, "=")
			out.env[key] = value
		case "WORKDIR", "VOLUME", "STOPSIGNAL", "CMD":
		default:
			t.Fatalf("unknown instruction %s", name)
		}
	}
	if out.user != "65532:65532" || len(out.entry) != 1 || len(out.health) < 2 {
		t.Fatalf("the image is %+v", out)
	}
	return out
}

// list reads ["a", "b"].
func list(text string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// TestStatic: the binary needs no library, as an image from scratch has none.
func TestStatic(t *testing.T) {
	t.Parallel()
	b := read(t, rota)
	if strings.Contains(b, "/lib64/ld-linux") || strings.Contains(b, "ld-musl") {
		t.Error("the binary names a dynamic linker")
	}
}
