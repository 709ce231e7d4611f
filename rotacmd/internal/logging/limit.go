package logging

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// Burst is how many records with one message are written in an [Interval].
	Burst = 50
	// Interval is how long records are counted together.
	Interval = 10 * time.Second
)

// Limiter is a handler that passes a bounded number of records for each message.
type Limiter struct {
	next slog.Handler
	*counts
}

// counts are shared by the handlers that come from one.
type counts struct {
	out slog.Handler // for what the limiter itself says
	mu  sync.Mutex
	of  map[string]*count // by message; messages are constants of the program
}

type count struct {
	began       time.Time
	level       slog.Level
	passed, cut int
}

// Limit returns a handler that passes to next at most [Burst] records with one message in an [Interval].
func Limit(next slog.Handler) *Limiter {
	return &Limiter{next, &counts{out: next, of: make(map[string]*count)}}
}

// Enabled implements slog.Handler.
func (l *Limiter) Enabled(ctx context.Context, level slog.Level) bool {
	return l.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (l *Limiter) Handle(ctx context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.say(ctx, func(c *count) bool { return now.Sub(c.began) >= Interval })
	c := l.of[r.Message]
	if c == nil {
		c = &count{began: now}
		l.of[r.Message] = c
	}
	c.level = r.Level
	if c.passed == Burst {
		c.cut++
		return nil
	}
	c.passed++
	return l.next.Handle(ctx, r)
}

// say writes the counts of the intervals that are over, and begins new ones.
func (c *counts) say(ctx context.Context, over func(*count) bool) {
	for _, message := range slices.Sorted(maps.Keys(c.of)) {
		n := c.of[message]
		if !over(n) {
			continue
		}
		delete(c.of, message)
		if n.cut == 0 {
			continue
		}
		r := slog.NewRecord(time.Now(), n.level, "the same was logged more often", 0)
		r.AddAttrs(slog.String("message", message), slog.Int("left_out", n.cut))
		_ = c.out.Handle(ctx, r) // as a logger does with its own records
	}
}

// Flush writes the counts of what was left out.
func (l *Limiter) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.say(context.Background(), func(*count) bool { return true })
}

// WithAttrs implements slog.Handler.
func (l *Limiter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Limiter{l.next.WithAttrs(attrs), l.counts}
}

// WithGroup implements slog.Handler.
func (l *Limiter) WithGroup(name string) slog.Handler {
	return &Limiter{l.next.WithGroup(name), l.counts}
}
