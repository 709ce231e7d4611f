package command

import (
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/pages"
	"github.com/rota-run/rota/internal/proof/stories"
	"github.com/rota-run/rota/rotacmd/stores"
)

// proofreader looks whether this command knows what the documents say of it, without doing it.
type proofreader struct {
	etc string // stands for /etc/rota: its files are there
}

func newProofreader(t *testing.T) proofreader {
	t.Helper()
	dir := t.TempDir()
	server := httptest.NewTLSServer(nil) // has a certificate
	defer server.Close()
	for name, text := range map[string][]byte{
		"ca.pem": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		"token":  []byte("x"),
	} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	return proofreader{dir}
}

// forms are how the documents call the command.
var forms = [][]string{{"rota"}, {"go", "run", "./cmd/rota"}, {"bin/rota"}}

// arguments are those of this command; false where the words call another one.
func arguments(words []string) ([]string, bool) {
	for _, form := range forms {
		if len(words) >= len(form) && slices.Equal(words[:len(form)], form) {
			args := words[len(form):]
			if i := slices.IndexFunc(args,
				func(w string) bool { return strings.HasPrefix(w, "<") || strings.HasPrefix(w, ">") }); i >= 0 {
				args = args[:i]
			}
			return args, true
		}
	}
	return nil, false
}

// line checks what can be typed as it stands.
func (p proofreader) line(args []string) error {
	cmd, rest, err := p.named(args)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		return err
	}
	if f := cmd.Flags().Lookup("store"); f != nil && f.Changed {
		return p.store(f.Value.String(), cmd.Name() == "demo")
	}
	if cmd.CommandPath() == "rota store check" || cmd.CommandPath() == "rota store copy" {
		for _, text := range cmd.Flags().Args() {
			if err := p.store(text, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// named checks that there are such a command and such flags: what running text says, where words stand for arguments.
// It returns the command, and what follows its name.
func (p proofreader) named(args []string) (*cobra.Command, []string, error) {
	root := newRoot(env{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard,
		getenv: func(string) string { return "" }})
	cmd, rest, err := root.Find(args)
	if err != nil {
		return nil, nil, err
	}
	if cmd.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return nil, nil, fmt.Errorf("unknown command %q", cmd.CommandPath()+" "+rest[0])
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	for _, w := range rest {
		name, isFlag := strings.CutPrefix(w, "--")
		name, _, _ = strings.Cut(name, "=")
		if isFlag && cmd.Flags().Lookup(name) == nil {
			return nil, nil, fmt.Errorf("unknown flag: --%s", name)
		}
	}
	return cmd, rest, nil
}

// store checks an address; for a demonstration the kind of a server is enough.
func (p proofreader) store(text string, kindIsEnough bool) error {
	if scheme, rest, _ := strings.Cut(text, ":"); kindIsEnough && rest == "" &&
		slices.Contains([]string{"etcd", "nats", "postgres"}, scheme) {
		return nil
	}
	return stores.Check(strings.ReplaceAll(text, "/etc/rota", p.etc),
		stores.Options{Getenv: func(string) string { return "x" }})
}

// document checks a whole document. It returns how many lines and how many mentions it has looked at, and what is
// wrong.
func (p proofreader) document(text string) (lines, mentions int, faults []string) {
	blocks, err := pages.Blocks(text)
	if err != nil {
		return 0, 0, []string{err.Error()}
	}
	note := func(line int, words []string, err error) {
		if err != nil {
			faults = append(faults, fmt.Sprintf("line %d: %s: %v", line, strings.Join(words, " "), err))
		}
	}
	for _, b := range blocks {
		if !isTyped(b) {
			continue
		}
		commands, err := pages.Commands(b)
		note(b.Line, nil, err)
		for _, c := range commands {
			if args, ours := arguments(c.Words); ours {
				lines++
				note(c.Line, c.Words, p.line(args))
			}
		}
	}
	for _, s := range pages.Spans(text) {
		if args, ours := arguments(strings.Fields(s.Text)); ours {
			mentions++
			_, _, err := p.named(args)
			note(s.Line, []string{s.Text}, err)
		}
	}
	return lines, mentions, faults
}

// isTyped tells whether a line of a block calls this command.
func isTyped(b pages.Block) bool {
	for line := range strings.Lines(b.Text) {
		words := strings.Fields(line)
		for i := range words {
			if _, ours := arguments(words[i:]); ours &&
				(i == 0 || slices.Contains([]string{"$", "&&", "|", ";"}, words[i-1])) {
				return true
			}
		}
	}
	return false
}

// Each line of all documents that can be copied into a shell is one that this command takes, up to the address of the
// store; and where the running text names a command or a flag, there is one.
func TestDocumentsSpeakOfThisCommand(t *testing.T) {
	t.Parallel()
	const root = "../../.."
	p := newProofreader(t)
	lines, mentions := 0, 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "bin", "dist", "rota-data", "testdata", "decisions"},
			d.Name()) {
			return fs.SkipDir
		}
		if slices.Contains([]string{"CHANGELOG.md", "track-record.md"}, d.Name()) { // history, as are decisions: commands had other names
			return nil
		}
		if d.IsDir() || !strings.HasSuffix(name, ".md") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		l, m, faults := p.document(string(text))
		lines, mentions = lines+l, mentions+m
		for _, f := range faults {
			t.Errorf("%s: %s", name, f)
		}
		return nil
	})
	if err != nil || lines < 30 || mentions < 60 {
		t.Errorf("%d lines and %d mentions, %v: the documents were not found", lines, mentions, err)
	}
	t.Logf("%d lines, %d mentions", lines, mentions)
}

func TestAWrongDocumentIsNoticed(t *testing.T) {
	t.Parallel()
	p := newProofreader(t)
	for text, said := range stories.Rows(t, "testdata/documents.txt") {
		if _, _, faults := p.document("```\n" + text + "\n```\n"); len(faults) != 1 || !said.In(faults[0]) {
			t.Errorf("%s: %q, want one fault about %q", text, faults, said.Want)
		}
	}
	for text, want := range map[string]string{
		"`rota statsu`": "unknown command", "`rota task list --states parked`": "unknown flag",
	} {
		if _, _, faults := p.document("Say " + text + " then.\n"); len(faults) != 1 ||
			!strings.Contains(faults[0], want) {
			t.Errorf("%s: %q, want one fault about %q", text, faults, want)
		}
	}
	const sound = "```\nrota run --store \"etcd://a,b:1/x/y?user=u&password=env:P&ca=/etc/rota/ca.pem\" ./tasks # a member\nrota demo --store nats:\n" +
		"rota simulate <<'END'\nrota runs\nEND\n```\n```yaml\n# rota runs\n```\nSay `rota why TASK`.\n"
	if lines, mentions, faults := p.document(sound); lines != 3 || mentions != 1 || len(faults) != 0 {
		t.Errorf("%d lines, %d mentions, %q", lines, mentions, faults)
	}
}
