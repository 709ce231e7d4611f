package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/rotacmd/internal/command/simulate"
)

const crashScript = "join a b slots=1\nsubmit web\nsubmit etl\n  read -> write\n  write\nsubmit web weight=3\ncrash b\n"

func TestSimulateReadsAFileOrStandardInput(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "script")
	must.Succeed(t, os.WriteFile(path, []byte(crashScript), 0o600))
	fromFile, _, code := here("", "simulate", path)
	fromStdin, _, code2 := here(crashScript, "simulate")
	if code != exitOK || code2 != exitOK || fromFile != fromStdin ||
		!strings.Contains(fromFile, "refused: a job of this name exists") {
		t.Fatalf("exit %d and %d\n%s\n%s", code, code2, fromFile, fromStdin)
	}
}

func TestSimulateJSONIsAnObjectForEachCommand(t *testing.T) {
	t.Parallel()
	out, _, code := here(crashScript, "simulate", "-o", "json")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != exitOK || len(lines) != 5 {
		t.Fatalf("exit %d, %d objects\n%s", code, len(lines), out)
	}
	var last simulate.Report
	must.Succeed(t, json.Unmarshal([]byte(lines[4]), &last))
	if last.Command != "crash b" || last.Grants["web"] != "a" || len(last.Slots["etl"]["read"]) != 1 ||
		last.Waiting["etl/write"] == "" {
		t.Fatalf("%+v", last)
	}
}

func TestSimulateTellsTheLineOfAFault(t *testing.T) {
	t.Parallel()
	out, errs, code := here("join a\n\nsubmt x\n", "simulate", "-o", "json")
	if code != exitUsage || strings.Count(out, "\n") != 1 || !strings.Contains(errs, "line 3") ||
		!strings.Contains(errs, "try: one of join") {
		t.Fatalf("exit %d\n%s\n%s", code, out, errs)
	}
}
