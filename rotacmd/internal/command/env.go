package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/plain"
)

// env is what a command has of the world around it.
type env struct {
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	own            Program
	root           fs.FS // what cgroups are read from; nil for this machine's
}

// The exit codes.
const (
	exitOK      = 0
	exitFailed  = 1
	exitUsage   = 2
	exitEvicted = 3 // of a member: whoever starts it again decides so
)

// fault is an error with what to try.
type fault struct {
	err   error
	try   string
	usage bool
}

func (f *fault) Error() string { return f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

// failed is an error with a hint.
func failed(try string, format string, args ...any) error {
	return &fault{err: fmt.Errorf(format, args...), try: try}
}

// misused is an error of the caller's: exit 2.
func misused(try string, format string, args ...any) error {
	return &fault{err: fmt.Errorf(format, args...), try: try, usage: true}
}

// errSilent fails without a line: everything was said already.
var errSilent = errors.New("failed")

// execute runs the command line and returns its exit code.
func execute(e env) int {
	root := newRoot(e)
	root.SetArgs(e.args)
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	err := root.Execute()
	if err == nil {
		return exitOK
	}
	var f *fault
	errors.As(err, &f)
	if !errors.Is(err, errSilent) {
		e.complain(err, f)
	}
	if _, evicted := errors.AsType[*rota.EvictedError](err); evicted {
		return exitEvicted
	}
	if f != nil && f.usage {
		return exitUsage
	}
	return exitFailed
}

// complain says what is wrong in one line, and in another what to try.
func (e env) complain(err error, f *fault) {
	name := e.own.name()
	text := strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
	e.say("%s: %s", name, text)
	if f != nil && f.try != "" {
		e.say("try: %s", e.own.renamed(f.try))
	}
}

// say writes a line for people.
func (e env) say(format string, args ...any) {
	fmt.Fprintln(e.stderr, e.own.renamed(printable(fmt.Sprintf(format, args...))))
}

// printJSON writes one value on one line.
func (e env) printJSON(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	_, err = fmt.Fprintf(e.stdout, "%s\n", plain.JSON(b))
	return err
}
