package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// dropIn is a setting behind a mark, for drop-ins: a comment has a space there.
var dropIn = regexp.MustCompile(`(?m)^#([A-Z])`)

// TestUnits lets systemd read the units, with the binary of this test in place of the installed one.
func TestUnits(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not here")
	}
	dir := t.TempDir()
	for _, name := range []string{"rota.service", "rota@.service"} {
		text := strings.ReplaceAll(read(t, filepath.Join("systemd", name)), "/usr/bin/rota ", rota+" ")
		if text = dropIn.ReplaceAllString(text, "$1"); !strings.Contains(text,
			"\nEnvironment=ROTA_API_TOKENS=%d/users\n") { // what a drop-in may say
			t.Errorf("%s: no users of the API", name)
		}
		succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, name := range []string{"rota.service", "rota@1.service"} {
		out, err := exec.Command("systemd-analyze", "verify", "--man=no", filepath.Join(dir, name)).CombinedOutput()
		if err != nil || strings.Contains(string(out), "rota") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
	out, err := exec.Command("systemd-analyze", "security", "--offline=yes", "--threshold=25", "--no-pager",
		filepath.Join(dir, "rota.service")).CombinedOutput()
	if strings.Contains(string(out), "unrecognized option") || strings.Contains(string(out), "Unknown option") {
		t.Logf("this systemd-analyze does not judge files: %s", out)
		return
	}
	if err != nil {
		t.Errorf("a service that is exposed above 2.5: %v\n%s", err, out)
	}
}

var flag = regexp.MustCompile(`--[a-z-]+`)

// TestUnitsKnowTheCommand: each flag is one of rota run, and stopping takes longer than draining.
func TestUnitsKnowTheCommand(t *testing.T) {
	t.Parallel()
	help := must(t, exec.Command(rota, "run", "--help"))
	for _, name := range []string{"rota.service", "rota@.service"} {
		text := read(t, filepath.Join("systemd", name))
		line := regexp.MustCompile(`(?m)^ExecStart=.*$`).FindString(text)
		for _, f := range flag.FindAllString(line, -1) {
			if !strings.Contains(help, f+" ") {
				t.Errorf("%s: rota run has no %s", name, f)
			}
		}
		if !strings.Contains(text, "\nRestartPreventExitStatus=2 3\n") {
			t.Errorf("%s: wrong settings are tried again and again, or an eviction lasts for 2 s", name)
		}
		if !strings.Contains(text, "TimeoutStopSec=30s") || !strings.Contains(text, "KillMode=mixed") ||
			!strings.Contains(help, "before the member leaves (default 10s)") {
			t.Errorf("%s: it is killed before it has drained", name)
		}
	}
}

// TestInstallUnderSystemd types what README has, below another root and without its last line, which starts the
// service. What is then installed must be the binary, the unit, and settings that rota reads.
func TestInstallUnderSystemd(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(read(t, "README.md"), "\n## systemd\n")
	_, block, _ := strings.Cut(section, "\n```\n")
	block, _, _ = strings.Cut(block, "\n```\n")
	typed, last, found := strings.Cut(block, "\nsystemctl ")
	if !found || strings.Count(typed, "\n") < 2 {
		t.Fatalf("README has no such lines: %q", section)
	}
	if want := "daemon-reload && systemctl enable --now rota"; last != want {
		t.Errorf("the last line is %q, want %q", last, want)
	}
	root := t.TempDir()
	succeed(t, os.MkdirAll(filepath.Join(root, "etc/systemd/system"), 0o750))
	script := strings.NewReplacer(" bin/rota", " "+rota, " deploy/", " ./", " /usr/", " "+root+"/usr/", " /etc/",
		" "+root+"/etc/").Replace(typed)
	must(t, exec.Command("sh", "-ec", script))
	if got := read(t, filepath.Join(root, "etc/systemd/system/rota.service")); got != read(t, "systemd/rota.service") {
		t.Errorf("the unit is %q", got)
	}
	out := must(t, exec.Command(filepath.Join(root, "usr/bin/rota"), "config", "--config",
		filepath.Join(root, "etc/rota/rota.yaml"), filepath.Join(root, "etc/rota/tasks")))
	if !strings.Contains(out, "zookeeper://zk1/weather") || !strings.Contains(out, "web-1") {
		t.Errorf("rota config says %s", out)
	}
}
