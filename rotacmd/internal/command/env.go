package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/safetext"
	"github.com/rota-run/rota/internal/source/directory"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/node/guardian"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/rotacmd/stores"
	"github.com/rota-run/rota/work"
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
	e.stdout = &printout{to: e.stdout}
	root := newRoot(e)
	root.SetArgs(e.args)
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	err := cmp.Or(root.Execute(), e.written())
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

// printLines shows lines of a file.
func (e env) printLines(lines []string) {
	for _, l := range lines {
		fmt.Fprintf(e.stdout, "      %s\n", printable(l))
	}
}

// printJSON writes one value on one line.
func (e env) printJSON(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	_, err = fmt.Fprintf(e.stdout, "%s\n", safetext.JSON(b))
	return err
}

// authorize adds the token that ref names, if any, to a request. It is the only way by which a command sends a
// credential, and it decides whether one may go to an address: over TLS, or to this machine. The caller has the address
// from the operator, never from what stands in a store: see decision 82.
func authorize(r *http.Request, ref string, getenv func(string) string) error {
	if (ref != "" || r.URL.User != nil) && r.URL.Scheme != "https" && !api.Loopback(r.URL.Hostname()) {
		return misused("https://"+r.URL.Host+", or http://"+api.DefaultAddress+" on the member's own machine",
			"will not send the token to %s://%s: plain HTTP shows it to the network", r.URL.Scheme, r.URL.Host)
	}
	if ref == "" {
		return nil
	}
	token, err := storeurl.Secret(ref, getenv)
	if err != nil {
		return misused("--api-token env:NAME", "api-token: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return nil
}

// stay follows no redirect: a token goes to the address that the operator typed, and to no other.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Program is what a binary has besides what is in Rota. The zero value is the command rota.
type Program struct {
	Name       string // what people type; default rota
	Types      []work.Type
	Functions  []call.Function
	Stores     []stores.Kind
	Sources    map[string]fs.FS
	Files      []Kind[fs.FS]             // task files that are elsewhere than in a directory: --source NAME=SCHEME:REST
	Storages   []Kind[journal.Appender]  // places that get the records of the journal: --storage SCHEME:REST
	Publishers []Kind[publish.Publisher] // sinks: --publish SCHEME:REST
}

// Kind is a kind of what a setting names as SCHEME:REST.
type Kind[T any] struct {
	Scheme string
	Open   func(rest string) (T, error)
}

// Main is the whole of a binary: it runs the command line and ends the process.
func Main(p Program) {
	e := env{args: os.Args[1:], stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, own: p}
	if guardian.Child(guardianOpens(e)) {
		return
	}
	os.Exit(execute(e))
}

func (p Program) name() string { return cmp.Or(p.Name, "rota") }

// ourCommand is where a text names this binary: rota and a word, not a path or a name that contains it.
var ourCommand = regexp.MustCompile(`(^|[ ;:(])rota ([a-z-])`)

// renamed is a text for people with the name of this binary in it.
func (p Program) renamed(text string) string {
	if p.Name == "" {
		return text
	}
	return ourCommand.ReplaceAllString(text, "${1}"+p.Name+" ${2}")
}

// check says what is wrong with what the program adds: a mistake of who wrote it.
func (p Program) check(builtin work.Types) error {
	var faults []error
	seen := map[string]bool{}
	for _, t := range p.Types {
		if _, taken := builtin[t.Name]; taken || seen[t.Name] || t.New == nil || cluster.CheckName(t.Name) != nil {
			faults = append(faults, fmt.Errorf("task type %q: it needs New and a name of its own", t.Name))
		}
		seen[t.Name] = true
	}
	faults = append(faults, p.checkSchemes()...)
	for _, name := range slices.Sorted(maps.Keys(p.Sources)) {
		if err := cluster.CheckName(string(directory.Job(name).Job)); name == "" || err != nil ||
			p.Sources[name] == nil {
			faults = append(faults, fmt.Errorf("source %q: it needs files and a name of letters, digits, . _ and -",
				name))
		}
	}
	return errors.Join(faults...)
}

// checkSchemes says what is wrong with what is opened by a scheme.
func (p Program) checkSchemes() []error {
	var faults []error
	check := func(what, scheme string, opens bool, taken ...string) {
		if !opens || slices.Contains(append(taken, ""), scheme) {
			faults = append(faults, fmt.Errorf("%s %q: it needs Open and a scheme of its own", what, scheme))
		}
	}
	for _, k := range p.Stores {
		check("store", k.Scheme, k.Open != nil)
	}
	for _, k := range p.Publishers {
		check("publisher", k.Scheme, k.Open != nil, append(sinkNames(), "none")...)
	}
	for _, k := range p.Files {
		check("files", k.Scheme, k.Open != nil)
	}
	for _, k := range p.Storages {
		check("storage", k.Scheme, k.Open != nil, "file", "none")
	}
	return faults
}
