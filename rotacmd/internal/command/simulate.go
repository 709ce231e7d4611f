package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/rotacmd/internal/command/simulate"
)

const simulateHelp = `Plays a script on a cluster that exists in this process only: no store, no members, no waiting. After each command the members
do what they have to do, and it says what was accepted or refused and why, who runs what, what moved, and why anything waits.

  join a b slots=4
  submit etl scheduler=greedy
    read -> map
    map -> write
    write
  crash a

The language is described in docs/reference/simulate.md.`

func newSimulate(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "simulate [SCRIPT]", Short: "try out what a cluster would do", Long: simulateHelp,
		Example: "  rota simulate crash.txt\n  echo 'join a b slots=4' | rota simulate",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return misused("rota simulate --help", "rota simulate takes one script, or none for standard input, and there are %d", len(args))
			}
			return nil
		},
	}
	flags := cmd.Flags()
	asJSON := formatFlag(flags)
	all := flags.Bool("all", false, "print all lines, without a limit")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name := "-"
		if len(args) > 0 {
			name = args[0]
		}
		text, err := e.readScript(name)
		if err != nil {
			return err
		}
		show := func(r *simulate.Report) error { return r.Print(e.stdout, *all) }
		if *asJSON {
			enc := json.NewEncoder(e.stdout)
			enc.SetEscapeHTML(false)
			show = func(r *simulate.Report) error { return enc.Encode(r) }
		}
		return playScript(name, text, show)
	}
	return cmd
}

// readScript reads a file, or standard input for "-".
func (e env) readScript(name string) (string, error) {
	in := e.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return "", misused("rota simulate --help", "read script: %w", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, simulate.MaxScript+1))
	if err != nil {
		return "", fmt.Errorf("read script %s: %w", name, err)
	}
	return string(data), nil
}

// playScript plays all of a script that can be read.
func playScript(name, text string, show func(*simulate.Report) error) error {
	script, err := simulate.Parse(text)
	if err != nil {
		return scriptFault(name, err)
	}
	w := simulate.New(script.Golden)
	for _, l := range script.Lines {
		r, err := w.Play(l)
		if err != nil {
			return scriptFault(name, err)
		}
		if err := show(&r); err != nil {
			return err
		}
	}
	return nil
}

func scriptFault(name string, err error) error {
	try := "docs/reference/simulate.md"
	var fault *simulate.ScriptError
	if errors.As(err, &fault) && fault.Try != "" {
		try = fault.Try
	}
	return misused(try, "script %s: %w", name, err)
}
