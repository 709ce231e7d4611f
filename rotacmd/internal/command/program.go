package command

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/source/directory"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/node/guardian"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/rotacmd/stores"
	"github.com/rota-run/rota/work"
)

// Program is what a binary has besides what is in Rota. The zero value is the command rota.
type Program struct {
	Name       string // what people type; default rota
	Types      []work.Type
	Functions  []call.Function
	Stores     []stores.Kind
	Sources    map[string]fs.FS
	Files      []FilesKind
	Storages   []StorageKind
	Publishers []PublisherKind
}

// FilesKind is a kind of task files that are elsewhere than in a directory: --source NAME=SCHEME:REST.
type FilesKind struct {
	Scheme string
	Open   func(rest string) (fs.FS, error)
}

// StorageKind is a kind of place that gets the records of the journal: --storage SCHEME:REST.
type StorageKind struct {
	Scheme string
	Open   func(rest string) (journal.Appender, error)
}

// PublisherKind is a kind of sink: --publish SCHEME:REST.
type PublisherKind struct {
	Scheme string
	Open   func(rest string) (publish.Publisher, error)
}

// Main is the whole of a binary: it runs the command line and ends the process.
func Main(p Program) {
	e := env{args: os.Args[1:], stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, own: p}
	if guardian.Child(guardianOpens(e)) {
		return
	}
	os.Exit(execute(e))
}

func (p Program) name() string {
	if p.Name == "" {
		return "rota"
	}
	return p.Name
}

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
		if err := cluster.CheckName(string(directory.Job(name).Job)); name == "" || err != nil || p.Sources[name] == nil {
			faults = append(faults, fmt.Errorf("source %q: it needs files and a name of letters, digits, . _ and -", name))
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
