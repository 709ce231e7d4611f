package work

import (
	"context"
	"log/slog"
)

// runLog is the handler of a run's log. It adds partition and token only when something is logged: most runs log nothing, and a handler with both for each of
// them takes more memory than the run.
type runLog run

func (r *run) log() *slog.Logger { return slog.New((*runLog)(r)) }

func (l *runLog) handler() slog.Handler { return l.s.log.Handler() }

func (l *runLog) full() slog.Handler {
	return l.handler().WithAttrs([]slog.Attr{slog.String("partition", string(l.id)), slog.Uint64("token", uint64(l.token))})
}

// Enabled implements slog.Handler.
func (l *runLog) Enabled(ctx context.Context, level slog.Level) bool {
	return l.handler().Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (l *runLog) Handle(ctx context.Context, r slog.Record) error { return l.full().Handle(ctx, r) }

// WithAttrs implements slog.Handler.
func (l *runLog) WithAttrs(attrs []slog.Attr) slog.Handler { return l.full().WithAttrs(attrs) }

// WithGroup implements slog.Handler.
func (l *runLog) WithGroup(name string) slog.Handler { return l.full().WithGroup(name) }
