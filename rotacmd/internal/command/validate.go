package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/internal/source/directory"
	"github.com/rota-run/rota/rotacmd/internal/command/simulate"
	"github.com/rota-run/rota/source"
)

const validateHelp = `Checks task files and job files as a member does, without a store and without a member: for the CI of a repository of task files.

A directory is read as rota run reads it: each .yaml, .yml and .json file in it and below it is a task. A file is read as rota job submit reads it.
What members allow, such as allow-exec, may also stand in the environment or in rota.yaml, as for them.
It exits 1 if something is wrong, and 2 if a path is not there.`

// Validation is what rota validate prints as JSON.
type Validation struct {
	OK     bool      `json:"ok"`
	Tasks  int       `json:"tasks"` // good ones, those of job files too
	Faults []FaultAt `json:"faults"`
}

// FaultAt is what is wrong, and where.
type FaultAt struct {
	Path    string `json:"path"`
	Line    int    `json:"line,omitempty"`   // from 1; 0 when it is about the whole file
	Column  int    `json:"column,omitempty"` // from 1, in characters
	Message string `json:"message"`
	Try     string `json:"try,omitempty"`
	lines   []string
}

func newValidate(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "validate DIR|FILE...", Short: "check task files and job files, for CI", Long: validateHelp,
		Example: "  rota validate ./tasks\n  rota validate etl.yaml --type etl.load",
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return misused("rota validate ./tasks", "rota validate needs a directory of task files, or files")
		}
		return nil
	}
	flags := cmd.Flags()
	asJSON := formatFlag(flags)
	var s submission
	s.typeFlags(flags)
	configFlag(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := settle(e, cmd); err != nil {
			return err
		}
		v, err := s.validate(e, args)
		if err != nil {
			return err
		}
		return e.printValidation(v, bool(*asJSON))
	}
	return cmd
}

// validate checks directories and files.
func (s *submission) validate(e env, paths []string) (Validation, error) {
	v := Validation{Faults: []FaultAt{}}
	types, err := e.typesOf(s.allow, false)
	if err != nil {
		return v, err
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return v, misused("the path of a directory or a file", "validate: %w", err)
		}
		if !info.IsDir() {
			v.file(path, info, func(data []byte) (int, error) {
				_, spec, err := source.ParseJob(path, data, types, s.accepts)
				if err == nil {
					tellDropped(e, spec, types)
				}
				return len(spec.Tasks), err
			})
			continue
		}
		scan := directory.ScanDirs([]string{path}, "validate", types)
		v.Tasks += len(scan.Definitions)
		for _, f := range scan.Faults {
			v.add(f)
		}
	}
	v.OK = len(v.Faults) == 0
	slices.SortStableFunc(v.Faults,
		func(a, b FaultAt) int { return cmp.Or(strings.Compare(a.Path, b.Path), a.Line-b.Line) })
	return v, nil
}

func (v *Validation) file(path string, info os.FileInfo, parse func([]byte) (int, error)) {
	if info.Size() > source.MaxFile {
		v.add(source.TooLarge(path, info.Size()))
		return
	}
	data, err := os.ReadFile(path)
	n := 0
	if err == nil {
		n, err = parse(data)
	}
	if err != nil {
		v.add(err)
		return
	}
	v.Tasks += n
}

func (v *Validation) add(err error) {
	f := FaultAt{Message: err.Error()}
	if m, ok := err.(*source.MalformedError); ok { //nolint:errorlint // the parser gives it as it is
		f = FaultAt{Path: m.Path, Line: m.Line, Column: m.Column, Message: m.Message, Try: allowHere(m.Hint),
			lines: m.Lines}
	}
	v.Faults = append(v.Faults, f)
}

func (e env) printValidation(v Validation, asJSON bool) error {
	if asJSON {
		if err := e.printJSON(v); err != nil {
			return err
		}
	} else {
		for _, f := range v.Faults {
			e.printFault(f)
		}
		fmt.Fprintf(e.stdout, "%s ok, %s\n", many(v.Tasks, "task"), many(len(v.Faults), "fault"))
	}
	if !v.OK {
		return errSilent
	}
	return nil
}

func (e env) printFault(f FaultAt) {
	at := f.Path
	if f.Line > 0 {
		at = fmt.Sprintf("%s:%d:%d", f.Path, f.Line, f.Column)
	}
	fmt.Fprintf(e.stdout, "%s: %s\n", printable(at), printable(f.Message))
	e.printLines(f.lines)
	if f.Try != "" {
		fmt.Fprintf(e.stdout, "  try: %s\n", printable(f.Try))
	}
}

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
				return misused("rota simulate --help",
					"rota simulate takes one script, or none for standard input, and there are %d", len(args))
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
	if fault, ok := errors.AsType[*simulate.ScriptError](err); ok && fault.Try != "" {
		try = fault.Try
	}
	return misused(try, "script %s: %w", name, err)
}
