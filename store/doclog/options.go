package doclog

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/rota-run/rota/store"
)

// Options describe the log's documents. All handles on one store must use the same Place; the other fields may differ.
type Options struct {
	// Place is the first segment of the keys of the log's documents; default "#log". Callers of the handle cannot reach keys below it.
	Place string
	// MaxRecord is the maximum size of a record; default 1 MiB. The limit of the store itself applies too.
	MaxRecord int
	// MaxSnapshot is the maximum size of a snapshot; default 64 MiB. It is held in memory two or three times while it is saved or read.
	MaxSnapshot int
	// PartBytes is the size of the documents into which a snapshot is split; default 512 KiB. It must be less than the store's limit.
	PartBytes int
	// Ahead is the number of concurrent requests of a call that reads or removes many documents; default 32.
	Ahead int
	// Logger gets errors that no call can return; default: discard.
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

// Validate returns every fault of the options.
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
