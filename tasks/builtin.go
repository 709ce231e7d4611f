package tasks

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"net/netip"
	"time"

	"github.com/rota-run/rota/internal/safetext"
	"github.com/rota-run/rota/tasks/program"
	"github.com/rota-run/rota/work"
)

// Options is what a member allows its tasks. The zero value allows little: public addresses only, no programs.
type Options struct {
	// AllowCIDRs are non-public address ranges to which any task of the member may connect; see ParseCIDRs.
	AllowCIDRs []netip.Prefix
	// ExecAllow are the absolute paths of programs that tasks of type exec may start.
	ExecAllow []string
	// EnvAllow are the names of variables, or prefixes with a star, that tasks may set for programs in addition to
	// LANG, LANGUAGE, LC_* and TZ.
	EnvAllow []string
	// Programs is the room in which tasks run programs; one for all types of a process. Default: a room that finds
	// descendants of programs by their environment.
	Programs *program.Room
	// TailAllow are the absolute paths of directories below which tasks of type tail and files.lines may read files.
	TailAllow []string
	// WriteAllow are the absolute paths of directories below which tasks of type files.write may write.
	WriteAllow []string
	// Witness adds the types witness and witness-items, for tests of Rota itself.
	Witness bool
	// RootCAs are the trusted authorities of certificates; nil means those of the system.
	RootCAs *x509.CertPool
}

// Builtin returns a new table of the built-in types; the caller may change it.
func Builtin(o Options) work.Types {
	if o.Programs == nil {
		o.Programs = program.NewRoom(program.Options{NoGroup: true})
	}
	table := work.Types{}
	for _, t := range []work.Type{
		o.http(), o.tcp(), o.dns(), o.tls(), o.host(), o.scrape(), o.exec(), o.command(), o.tail(), o.noop(),
		o.filesLines(), o.filesWrite(), o.httpPost(), mapSegments(), filterSegments(), windowSegments(),
	} {
		table[t.Name] = t
	}
	if o.Witness {
		table["witness"] = o.witness()
		table["witness-items"] = o.witnessItems()
	}
	return table
}

const (
	defaultEvery   = 10 * time.Second
	defaultTimeout = 10 * time.Second
)

// roundTimeout is how long a round of a periodic type may take.
func roundTimeout(d work.Definition) time.Duration {
	if d.TimeoutMS > 0 {
		return time.Duration(d.TimeoutMS) * time.Millisecond
	}
	if every := time.Duration(d.EveryMS) * time.Millisecond; every > 0 {
		return min(every, defaultTimeout)
	}
	return defaultTimeout
}

// noopConfig of noop: emit asks for a sample noop.rounds of 1 per round.
type noopConfig struct {
	Emit bool `json:"emit"`
}

func (o Options) noop() work.Type {
	return work.Type{
		Name: "noop", Doc: "does nothing (for load tests)", Periodic: true, DefaultEvery: defaultEvery,
		New: typed(func(c noopConfig, _ work.Definition, _ *faults) work.Runner { return work.RunnerFunc(c.run) }),
	}
}

func (c noopConfig) run(_ context.Context, g *work.Grant) error {
	if c.Emit {
		g.Value("noop.rounds", 1, nil)
	}
	return nil
}

// maxErrorText bounds the text of an error that may quote a target.
const maxErrorText = 1000

// plain escapes what could make a terminal or a reader see another text.
func plain(s string) string { return safetext.Escaped(s) }

// plainTags makes names and values of tags plain. It returns tags itself where there is nothing to do.
func plainTags(tags map[string]string) map[string]string {
	clean := true
	for k, v := range tags {
		clean = clean && plain(k) == k && plain(v) == v
	}
	if clean {
		return tags
	}
	out := make(map[string]string, len(tags))
	for k, v := range tags {
		out[plain(k)] = plain(v)
	}
	return out
}

// plainError is an error whose text may quote a target: it is plain and short.
type plainError struct{ error }

// plainly returns nil for nil.
func plainly(err error) error {
	if err == nil {
		return nil
	}
	return plainError{err}
}

// Error returns the plain text, truncated if it is too long.
func (e plainError) Error() string {
	return plain(safetext.Cut(e.error.Error(), maxErrorText))
}

// Unwrap returns the error itself.
func (e plainError) Unwrap() error { return e.error }

// limit is a bound on what a target may make a round hold. A definition may raise it up to most.
type limit struct {
	field string // of the config
	unit  string
	usual int // where the definition says nothing
	most  int
}

// The limits that a definition may raise.
var (
	scrapeBytes   = limit{"max_bytes", "bytes", 16 << 20, 64 << 20}
	scrapeLines   = limit{"max_lines", "lines", 500_000, 2_000_000}
	scrapeSamples = limit{"max_samples", "samples", 10_000, 100_000}
	httpBody      = limit{"max_body", "bytes", 1 << 20, 16 << 20}
	tcpAnswer     = limit{"max_answer", "bytes", 64 << 10, 1 << 20}
	execOutput    = limit{"max_output", "bytes", 4 << 20, 64 << 20}
	execPoints    = limit{"max_points", "points", 10_000, 1_000_000}
)

// settle checks the value of a config field and replaces 0 by the usual one.
func (l limit) settle(f *faults, value *int) {
	*value = cmp.Or(*value, l.usual)
	if *value < 1 || *value > l.most {
		f.add(l.field, "", "%d is not between 1 and %d", *value, l.most)
	}
}

// exceeded is the error for a target that goes beyond the limit.
func (l limit) exceeded(what string, now int) error {
	return &unexpected{"limit", fmt.Errorf("%s %s", what, l.beyond(now))}
}

// beyond names the limit and what raises it.
func (l limit) beyond(now int) string {
	return fmt.Sprintf("more than %d %s; %s raises the limit, to %d at most", now, l.unit, l.field, l.most)
}
