package rotacmd

import (
	"context"
	"io/fs"
	"maps"
	_ "time/tzdata" // time zones of cron lines, also where the machine has none

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/rotacmd/internal/command"
	"github.com/rota-run/rota/rotacmd/stores"
	"github.com/rota-run/rota/store"
)

// Option adds something to the command.
type Option func(*command.Program)

// Main runs the command line of the process and ends the process. Nothing may come before it that prints, reads the
// standard input or starts goroutines: the process may be a helper of another one.
func Main(options ...Option) {
	var p command.Program
	for _, o := range options {
		o(&p)
	}
	command.Main(p)
}

// WithName is the name of the binary in help and hints; default rota.
func WithName(name string) Option {
	return func(p *command.Program) { p.Name = name }
}

// WithTypes adds task types.
func WithTypes(types ...rota.Type) Option {
	return func(p *command.Program) { p.Types = append(p.Types, types...) }
}

// WithFunctions adds functions that members with slots (run --slots 4) run calls of.
func WithFunctions(functions ...rota.Function) Option {
	return func(p *command.Program) { p.Functions = append(p.Functions, functions...) }
}

// WithStore adds a kind of store, for URLs that begin with a scheme and a colon. Members make the place where it is not
// there; see [stores.Access].
func WithStore(scheme string, open func(ctx context.Context, p stores.Place) (store.Full, error)) Option {
	return func(p *command.Program) {
		p.Stores = append(p.Stores, stores.Kind{Scheme: scheme, Example: scheme + ":…", Open: open})
	}
}

// WithSource adds a source of task files that each member of this binary declares, such as an [embed.FS]. They are
// looked at again and again: a file system that asks a server gives its tasks as they change. An error of it removes
// nothing.
func WithSource(name string, files fs.FS) Option {
	return func(p *command.Program) {
		p.Sources = maps.Clone(p.Sources)
		if p.Sources == nil {
			p.Sources = make(map[string]fs.FS)
		}
		p.Sources[name] = files
	}
}

// WithFiles adds a kind of source of task files: run --source NAME=SCHEME:REST opens it with the rest. Its files are
// looked at as those of [WithSource] are. Faults call it a directory, or by the word of its method Storage() string,
// where it has one.
func WithFiles(scheme string, open func(rest string) (fs.FS, error)) Option {
	return func(p *command.Program) {
		p.Files = append(p.Files, command.Kind[fs.FS]{Scheme: scheme, Open: open})
	}
}

// WithStorage adds a kind of place for the records of the journal, beside the cluster's own store: run --storage
// SCHEME:REST opens it with the rest. What it fails to take is tried again, and neither the journal nor the tasks wait
// for it.
func WithStorage(scheme string, open func(rest string) (journal.Appender, error)) Option {
	return func(p *command.Program) {
		p.Storages = append(p.Storages, command.Kind[journal.Appender]{Scheme: scheme, Open: open})
	}
}

// WithPublisher adds a sink of samples: run --publish SCHEME:REST opens it with the rest.
func WithPublisher(scheme string, open func(rest string) (rota.Publisher, error)) Option {
	return func(p *command.Program) {
		p.Publishers = append(p.Publishers, command.Kind[rota.Publisher]{Scheme: scheme, Open: open})
	}
}
