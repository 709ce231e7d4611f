package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// script is a stage whose program is a shell script.
func script(text string, least amounts) stage {
	return stage{name: "x", dir: ".", command: []string{"sh", "-c", text}, least: least}
}

func played(t *testing.T, s ...stage) (output string, code int) {
	t.Helper()
	var b strings.Builder
	sum := newSummary(&b)
	sum.root = t.TempDir()
	sum.playAll(context.Background(), s)
	code = sum.close()
	return b.String(), code
}

func TestLeastAmounts(t *testing.T) {
	t.Parallel()
	raced := script(`[ "$CGO_ENABLED" = 1 ] && echo '{"ok":true}'`, amounts{"ok": 1})
	raced.command = append(raced.command, "-race")
	for name, c := range map[string]struct {
		stage stage
		want  string
		code  int
	}{
		"enough":        {script(`echo '{"seeds":200}'`, amounts{"seeds": 200}), "ok    stage x", 0},
		"starved":       {script(`echo '{"seeds":199}'`, amounts{"seeds": 200}), "seeds: 199 of at least 200", 1},
		"nothing said":  {script(`echo done`, amounts{"seeds": 200}), "no JSON object: done", 1},
		"another thing": {script(`echo '{"seed":200}'`, amounts{"seeds": 1}), "seeds: 0 of at least 1", 1},
		"not true":      {script(`echo '{"ok":false}'`, amounts{"ok": 1}), "ok: 0 of at least 1", 1},
		"it fails":      {script(`echo why; echo '{"ok":true}'; exit 3`, amounts{"ok": 1}), "why", 1},
		"race":          {raced, "1 passed, 0 failed", 0},
		"a list":        {script(`echo '{"pairs":[1,2]}'`, amounts{"pairs": 2}), "1 passed, 0 failed", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, code := played(t, c.stage)
			if code != c.code || !strings.Contains(out, c.want) {
				t.Errorf("exit %d, want %d and %q in\n%s", code, c.code, c.want, out)
			}
		})
	}
}

// TestBeside: neighbours that mostly wait run at once, no more than a few, and what one of them lacks counts.
func TestBeside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// Each waits until three have begun: one after another they would wait for ever.
	meet := func(n int) string {
		return fmt.Sprintf("cd %s; echo > begun-%d; until [ $(ls begun-* | wc -l) -ge 3 ]; do sleep 0.01; done; echo '{\"ok\":1}'", dir, n)
	}
	var stages []stage
	for n := range 3 {
		st := script(meet(n), amounts{"ok": 1})
		st.beside, st.name = true, fmt.Sprint("meets-", n)
		stages = append(stages, st)
	}
	stages[2].least = amounts{"ok": 2}
	out, code := played(t, append(stages, script("echo last", nil))...)
	first, last := strings.Index(out, "ok    stage meets-0"), strings.Index(out, "ok    stage meets-1")
	if code != 1 || first < 0 || last < first || !strings.Contains(out, "ok: 1 of at least 2") ||
		!strings.Contains(out, "3 passed, 1 failed") {
		t.Errorf("exit %d, and\n%s", code, out)
	}
}

// lines are what go test -json prints for these events.
func lines(t *testing.T, events ...event) string {
	t.Helper()
	var b strings.Builder
	for _, e := range events {
		line := must.Get(json.Marshal(e))(t)
		b.Write(append(line, '\n'))
	}
	return b.String()
}

func TestResults(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	r := newResults(&b)
	const etcd, work = module + "proof/stores/etcd", module + "work"
	err := r.read(strings.NewReader(lines(t, event{Action: "pass", Package: etcd, Test: "TestDocs/empty"},
		event{Action: "pass", Package: etcd, Test: "TestDocs"},
		event{Action: "output", Package: etcd, Test: "TestLog", Output: "no server\n"},
		event{Action: "skip", Package: etcd, Test: "TestLog"},
		event{Action: "fail", Package: etcd, Test: "TestWatch/late"},
		event{Action: "fail", Package: etcd, Test: "TestWatch"},
		event{Action: "fail", Package: etcd},
		event{Action: "output", Package: work, Test: "TestHangs", Output: "waiting\n"},
		event{Action: "fail", Package: work},
	)))
	must.Succeed(t, err)
	if r.passed != 2 || r.done["suites stores/etcd"] != 1 || r.done["passed stores/etcd"] != 2 {
		t.Errorf("%d passed, %v", r.passed, r.done)
	}
	if len(r.skipped) != 1 || !strings.Contains(r.skipped[0], "TestLog: no server") {
		t.Errorf("skipped %q", r.skipped)
	}
	if len(r.failed) != 2 || r.failed[0].Test != "TestWatch" || r.failed[1] != (test{work, ""}) {
		t.Errorf("failed %v", r.failed)
	}
	if !strings.Contains(b.String(), "did not end: "+work+" TestHangs\nwaiting") {
		t.Errorf("the test that did not end is not shown:\n%s", b.String())
	}
}

// moduleOf writes a module with one test file and returns its stage.
func moduleOf(t *testing.T, body string) (st stage, root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module example.org/m\n\ngo 1.26.0\n",
		"m_test.go": "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\n" + body,
	} {
		must.Succeed(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	return stage{name: "tests", dir: ".", command: []string{"go", "test", "-json", "-count=1", "./..."}, tests: true,
		rerun: true, least: amounts{"passed": 1}}, root
}

// A test that fails once is listed, and three of them fail the proof; one that fails twice fails it.
func TestFlaky(t *testing.T) {
	t.Parallel()
	const once = `func TestNAME(t *testing.T) {
	if _, err := os.Stat("NAME"); err != nil {
		_ = os.WriteFile("NAME", nil, 0o600)
		t.Fatal("the first time")
	}
}
`
	for name, c := range map[string]struct {
		body string
		want string
		code int
	}{
		"one": {strings.ReplaceAll(once, "NAME", "A"), "FLAKY example.org/m TestA\n2 passed, 0 failed", 0},
		"three": {strings.ReplaceAll(once, "NAME", "A") + strings.ReplaceAll(once, "NAME", "B") +
			strings.ReplaceAll(once, "NAME", "C"), "FAIL  3 tests passed only", 1},
		"always": {"func TestA(t *testing.T) { t.Fatal(os.Args[0]) }\n", "passed: 0 of at least 1\n0 passed, 2 failed",
			1},
		"none": {"func testA(t *testing.T) { t.Fatal(os.Args[0]) }\n", "passed: 0 of at least 1", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, root := moduleOf(t, c.body)
			var b strings.Builder
			sum := newSummary(&b)
			sum.root = root
			sum.play(context.Background(), st)
			if code := sum.close(); code != c.code || !strings.Contains(b.String(), c.want) {
				t.Errorf("exit %d, want %d and %q in\n%s", code, c.code, c.want, b.String())
			}
		})
	}
}

func TestStagesAreNamedOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range stages() {
		if seen[s.name] || s.String() == "" {
			t.Errorf("two stages are named %s", s.name)
		}
		seen[s.name] = true
	}
	if _, err := choose(stages(), "lint,nothing"); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("an unknown stage: %v", err)
	}
}

// TestWhatPlaysApart: what plays only where it is named has a job of its own for each push, as all stages have, and a
// run without it says so.
func TestWhatPlaysApart(t *testing.T) {
	t.Parallel()
	play, apart := split(stages())
	if len(apart) == 0 || len(play)+len(apart) != len(stages()) {
		t.Errorf("%d play, %v apart", len(play), apart)
	}
	var b strings.Builder
	sum := newSummary(&b)
	sum.apart = apart
	sum.play(t.Context(), script("true", nil))
	if sum.close(); !strings.Contains(b.String(), "APART "+strings.Join(apart, ", ")+": not played") {
		t.Errorf("it does not say what was left:\n%s", b.String())
	}
	jobs := must.Get(os.ReadFile("../../.github/workflows/ci.yml"))(t)
	for _, s := range stages() {
		if !regexp.MustCompile(`(?m)^ +- (.*,)?` + s.name + `(,.*)?$`).Match(jobs) {
			t.Errorf("no job of CI plays %s", s.name)
		}
	}
}

// TestEveryPackageIsProved: each package of the proof with tests is in a stage, or among those of make test.
func TestEveryPackageIsProved(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("../../Makefile")
	must.Succeed(t, err)
	_, dry, _ := strings.Cut(string(makefile), "\nDRY ")
	dry, _, _ = strings.Cut(dry, "\n")
	patterns := strings.Fields(dry)
	for _, s := range stages() {
		if s.dir == "proof" && s.tests {
			patterns = append(patterns, s.command...)
		}
	}
	proved := map[string]bool{}
	for _, p := range patterns {
		if strings.HasPrefix(p, "./") {
			for _, name := range tested(t, p) {
				proved[name] = true
			}
		}
	}
	all := tested(t, "./...")
	if len(all) < 30 {
		t.Errorf("go list knows of %d packages with tests", len(all))
	}
	for _, name := range all {
		if !proved[name] {
			t.Errorf("the tests of %s are in no stage, and make test does not run them", name)
		}
	}
}

// TestWhatTheRaceDetectorDoesNotSee: each test that the stage race leaves out is one of the root, which make test
// plays.
func TestWhatTheRaceDetectorDoesNotSee(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "git", "grep", "-hoE", "^func Test[A-Za-z]+", "--", "*_test.go", ":!proof")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	must.Succeed(t, err)
	declared := strings.Fields(string(out))
	for _, name := range withoutRace() {
		if !slices.Contains(declared, name) {
			t.Errorf("there is no %s", name)
		}
	}
}

// tested are the packages of a pattern that have tests.
func tested(t *testing.T, pattern string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f",
		"{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", pattern)
	cmd.Dir = ".."
	out, err := cmd.Output()
	must.Succeed(t, err)
	return strings.Fields(string(out))
}
