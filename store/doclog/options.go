package doclog

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/rota-run/rota/store"
)

// Options say how a log lies in its documents. All handles on one store must be given the same Place; the other fields may differ.
type Options struct {
	// Place is the first segment of the keys of the log's documents; default "#log". Nobody else can reach keys below it through the handle.
	Place string
	// MaxRecord is how many bytes a record may have; default 1 MiB. What the store itself refuses is refused in any case.
	MaxRecord int
	// MaxSnapshot is how many bytes a snapshot may have; default 64 MiB. It is held in memory two or three times while it is saved or read.
	MaxSnapshot int
	// PartBytes is the size of the documents that a snapshot is cut into; default 512 KiB. It must be less than the store takes.
	PartBytes int
	// Ahead is how many requests a call has under way at once where it reads or removes many documents; default 32.
	Ahead int
	// Logger gets what no call can return; default: discard.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Place == "" {
		o.Place = "#log"
	}
	for _, d := range []struct {
		field *int
		value int
	}{{&o.MaxRecord, 1 << 20}, {&o.MaxSnapshot, 64 << 20}, {&o.PartBytes, 512 << 10}, {&o.Ahead, 32}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Validate reports every fault of the options.
func (o Options) Validate() error {
	o = o.withDefaults()
	errs := []error{store.CheckKey(o.Place)}
	if strings.Contains(o.Place, "/") {
		errs = append(errs, fmt.Errorf("place %q: give one segment, without %q", o.Place, "/"))
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"MaxRecord", o.MaxRecord}, {"MaxSnapshot", o.MaxSnapshot}, {"PartBytes", o.PartBytes}, {"Ahead", o.Ahead}} {
		if n.value < 1 {
			errs = append(errs, fmt.Errorf("%s is %d: give at least 1, or 0 for the default", n.name, n.value))
		}
	}
	return errors.Join(errs...)
}
