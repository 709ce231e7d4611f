package command

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// TestErrorsSayWhatToTry runs the command lines of testdata/usage.txt.
func TestErrorsSayWhatToTry(t *testing.T) {
	text, err := os.ReadFile("testdata/usage.txt")
	must.Succeed(t, err)
	p := newPlace(t)
	p.write("tasks/a.yaml", "type: noop\n")
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	defer busy.Close()
	_, rows, _ := strings.Cut(strings.ReplaceAll(string(text), "$BUSY", busy.Addr().String()), "\n")
	for row := range strings.SplitSeq(strings.ReplaceAll(strings.TrimSpace(rows), "\n    ", "\t"), "\n") {
		line, want, _ := strings.Cut(row, "\t")
		want = strings.ReplaceAll(want, `\n`, "\n")
		t.Run(line[2:], func(t *testing.T) {
			stdout, stderr, code := p.rota(strings.Fields(line[2:])...)
			lines := strings.Split(strings.TrimSpace(stderr), "\n")
			said := lines[max(0, len(lines)-2)]
			switch {
			case fmt.Sprint(code) != line[:1]:
				t.Errorf("exit %d; it said %s", code, stderr)
			case stdout != "":
				t.Errorf("stdout has %q", stdout)
			case !strings.HasPrefix(said, "rota: ") || !strings.Contains(stderr, want):
				t.Errorf("it said %q, want something about %q", said, want)
			case !strings.HasPrefix(lines[len(lines)-1], "try: "):
				t.Errorf("it does not say what to try: %q", stderr)
			case strings.Contains(stderr, "hunter2"):
				t.Errorf("it tells a secret: %q", stderr)
			}
		})
	}
}

// TestSettingsAreShownWithoutSecrets: a URL has a password in any setting that may be one.
func TestSettingsAreShownWithoutSecrets(t *testing.T) {
	newPlace(t)
	const secret = "nats://u:hunter2@h:4222/x?password=hunter2"
	for _, output := range []string{"text", "json"} {
		out, errs, code := with(map[string]string{"ROTA_QUEUE": secret}, "", "config", "-o", output, "--store", secret, "--publish", secret,
			"--storage", secret, "--source", "a="+secret, "--source", "./tasks", "--api-token", "hunter2")
		if code != exitOK || strings.Contains(out+errs, "hunter2") || strings.Count(out, "h:4222/x") != 5 || !strings.Contains(out, "./tasks") {
			t.Errorf("exit %d:\n%s%s", code, out, errs)
		}
	}
}

func TestSettingsComeFromFlagEnvironmentFileDefault(t *testing.T) {
	p := newPlace(t)
	p.write("rota.yaml", "store: file:from-file\nttl: 7s\nweight: 50\nlabel: {zone: a, disk: ssd}\napi-token: env:SECRET\ntasks: [./checks]\n")
	out, errs, code := with(map[string]string{"ROTA_TTL": "5s", "ROTA_WEIGHT": "20"}, "", "config", "--weight", "10")
	if code != exitOK || errs != "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	got := map[string]string{}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		got[f[0]] = strings.Join(f[1:], " ")
	}
	for name, want := range map[string]string{
		"store":     "file:from-file file rota.yaml",
		"ttl":       "5s environment ROTA_TTL",
		"weight":    "10 flag",
		"label":     "disk=ssd,zone=a file rota.yaml",
		"api-token": "*** file rota.yaml",
		"publish":   "stdout default",
		"tasks":     "./checks file rota.yaml",
	} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
	p.write("rota.yaml", "wieght: 5\n")
	if _, stderr, code := p.rota("config"); code != exitUsage || !strings.Contains(stderr, `"wieght"`) {
		t.Errorf("exit %d, %q; want a usage error about the unknown setting", code, stderr)
	}
	p.write("rota.yaml", "weight: [\n")
	if _, stderr, code := p.rota("config"); code != exitUsage || !strings.Contains(stderr, "rota.yaml") {
		t.Errorf("exit %d, %q; want a usage error about the file", code, stderr)
	}
}
