package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// words are what bash-completion gives to scripts of completion, for a machine that does not have it.
const words = `
_get_comp_words_by_ref() { cur="${COMP_WORDS[COMP_CWORD]}"; prev="${COMP_WORDS[COMP_CWORD-1]}"; words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; }
__ltrim_colon_completions() { :; }
compopt() { :; }
`

// TestCompletionInBash presses the tab key in a real bash.
func TestCompletionInBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not here")
	}
	for line, want := range map[string]string{
		"rota member dr": "drain", "rota run --proto": "--protocol", "rota run --protocol le": "lease leader",
		"rota task list --state pa": "parked paused", "rota store c": "check",
	} {
		fields := strings.Fields(line)
		script := words + `source <("$ROTA" completion bash); rota() { "$ROTA" "$@"; }; COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_TYPE=9; COMP_KEY=9; __start_rota; printf '%s\n' "${COMPREPLY[@]}"`
		cmd := exec.Command(bash, append([]string{"--norc", "-c", script, "bash"}, fields...)...)
		cmd.Env = append(os.Environ(), "ROTA="+filepath.Join(programs, "rota"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
		for _, w := range strings.Fields(want) {
			if !strings.Contains(string(out), w) {
				t.Errorf("%s: %q, want %s", line, out, w)
			}
		}
	}
}

// TestCompletionIsAScript lets each shell that is here read its script.
func TestCompletionIsAScript(t *testing.T) {
	t.Parallel()
	read := 0
	for _, shell := range []string{"bash", "zsh", "fish"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not here: its script is not read by it", shell)
			continue
		}
		script, err := exec.Command(filepath.Join(programs, "rota"), "completion", shell).Output()
		if err != nil || len(script) < 500 {
			t.Fatalf("%s: %v, %d bytes", shell, err, len(script))
		}
		cmd := exec.Command(path, "-n")
		cmd.Stdin = strings.NewReader(string(script))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", shell, err, out)
		}
		read++
	}
	if read == 0 {
		t.Skip("no shell is here")
	}
}

// TestManualIsRead lets groff set the manual, where it is here: it warns of what it does not understand.
func TestManualIsRead(t *testing.T) {
	t.Parallel()
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not here")
	}
	for _, name := range []string{"", "run", "store check"} {
		page, err := exec.Command(filepath.Join(programs, "rota"),
			append([]string{"man"}, strings.Fields(name)...)...).Output()
		must.Succeed(t, err)
		cmd := exec.Command(groff, "-man", "-ww", "-Tutf8", "-z")
		cmd.Stdin = strings.NewReader(string(page))
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("man %s: %v: %s", name, err, out)
		}
	}
}
