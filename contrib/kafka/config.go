package kafka

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/work"
)

// Config is what all members are told through the task. Secrets have no place in it: they are in [Loop].Options of each
// process.
type Config struct {
	Brokers []string `json:"brokers"` // some of the brokers, host:port
	// From is where a partition begins of which nothing was consumed: at its first record (default), or behind its last
	// one. One that is added to the topic later begins at its first record in any case.
	From From `json:"from,omitempty"`
	// OutOfRange is where to go on when the records at the position are no longer there, or not yet: default Nearest.
	OutOfRange OutOfRange `json:"out_of_range,omitempty"`
	// Group is the name of a consumer group without members, to which positions are committed too, for other tools. A
	// partition without a position begins at what is committed there. "" for none.
	Group      string        `json:"group,omitempty"`
	Save       work.Duration `json:"save,omitempty"`        // how often the position of a busy partition is saved; default 1 s
	Watch      work.Duration `json:"watch,omitempty"`       // how often to look for new partitions; default 30 s
	Timeout    work.Duration `json:"timeout,omitempty"`     // how long brokers may take for an answer; default 10 s
	MaxRecords int           `json:"max_records,omitempty"` // most records of one call of Take; default 500
}

// From is where a partition begins.
type From string

// OutOfRange is where a partition goes on whose position is not in the topic.
type OutOfRange string

// The choices.
const (
	FromStart From = "start"
	FromEnd   From = "end"

	Nearest OutOfRange = "nearest" // the first record behind a gap; the end, where the topic has become shorter
	ToStart OutOfRange = "start"   // the first record that there is
	ToEnd   OutOfRange = "end"     // behind the last one
	Fail    OutOfRange = "fail"    // nowhere: the partition fails until somebody acts
)

func (c Config) withDefaults() Config {
	c.From = cmp.Or(c.From, FromStart)
	c.OutOfRange = cmp.Or(c.OutOfRange, Nearest)
	c.Save = cmp.Or(c.Save, work.Duration(time.Second))
	c.Watch = cmp.Or(c.Watch, work.Duration(30*time.Second))
	c.Timeout = cmp.Or(c.Timeout, work.Duration(10*time.Second))
	c.MaxRecords = cmp.Or(c.MaxRecords, 500)
	return c
}

// validate tells every fault at once.
func (c Config) validate() error {
	var faults []error
	bad := func(field, hint, format string, args ...any) {
		faults = append(faults, &work.ConfigError{Path: "config." + field, Err: fmt.Errorf(format, args...),
			Hint: hint})
	}
	if len(c.Brokers) == 0 {
		bad("brokers", `brokers: ["kafka-1:9092"]`, "none is named")
	}
	for i, b := range c.Brokers {
		if host, port, err := net.SplitHostPort(b); err != nil || host == "" || port == "" ||
			strings.ContainsAny(b, "@/ ") {
			bad(fmt.Sprintf("brokers[%d]", i), "kafka-1:9092; names and passwords are options of the process",
				"it is not host:port")
		}
	}
	if !slices.Contains([]From{FromStart, FromEnd}, c.From) {
		bad("from", "start or end", "%q is not known", c.From)
	}
	if !slices.Contains([]OutOfRange{Nearest, ToStart, ToEnd, Fail}, c.OutOfRange) {
		bad("out_of_range", "nearest, start, end or fail", "%q is not known", c.OutOfRange)
	}
	for field, d := range map[string]work.Duration{"save": c.Save, "watch": c.Watch, "timeout": c.Timeout} {
		if d < work.Duration(time.Millisecond) {
			bad(field, "10s", "%v is too short", time.Duration(d))
		}
	}
	if c.MaxRecords < 0 {
		bad("max_records", "500", "it is negative")
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	if len(faults) == 1 {
		return faults[0]
	}
	return errors.Join(faults...)
}
