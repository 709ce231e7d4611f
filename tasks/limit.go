package tasks

import "fmt"

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
	if *value == 0 {
		*value = l.usual
	}
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
