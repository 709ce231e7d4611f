package bucket

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rota-run/rota/contrib/aws/internal/sdk"
	"github.com/rota-run/rota/work"
)

// Config is what all members are told through the task. The zero value is one pass over buckets of AWS in the region of the process. Credentials have
// no place in it: each process finds its own, by the SDK's chain (environment, shared files, role of the machine).
type Config struct {
	Region    string `json:"region,omitempty"`     // default: that of the process
	Endpoint  string `json:"endpoint,omitempty"`   // URL of a gateway, "http://minio:9000"; default: AWS
	PathStyle bool   `json:"path_style,omitempty"` // the bucket stands in the path, not in the host's name; most gateways want it
	Anonymous bool   `json:"anonymous,omitempty"`  // ask without credentials
	// Follow is how to go on when all objects were listed; default Once.
	Follow Follow `json:"follow,omitempty"`
	// Marks is where Follow marks puts an object for each one that is done: "s3://bucket/prefix/", outside of what is listed.
	Marks  string        `json:"marks,omitempty"`
	Poll   work.Duration `json:"poll,omitempty"`   // how long to wait before it is looked again for new objects; default 30 s
	Window int           `json:"window,omitempty"` // most objects outstanding; default 256
	// Stall is how long the rest of an object, or an answer, may not come; then it is asked for again. Default 30 s.
	Stall work.Duration `json:"stall,omitempty"`
}

// Follow is how to go on when all objects were listed.
type Follow string

// The choices.
const (
	Once   Follow = "once"   // the task ends when all is done
	Names  Follow = "names"  // objects come whose names sort behind those that were there: dates, counters
	Marks  Follow = "marks"  // look at all again; what is done has a mark, which is older than a changed object
	Delete Follow = "delete" // look at all again; what is done is deleted
)

func (c Config) withDefaults() Config {
	c.Follow = cmp.Or(c.Follow, Once)
	c.Poll = cmp.Or(c.Poll, work.Duration(30*time.Second))
	c.Stall = cmp.Or(c.Stall, work.Duration(30*time.Second))
	c.Window = cmp.Or(c.Window, 256)
	return c
}

// validate tells every fault at once.
func (c Config) validate() error {
	var faults []error
	bad := func(field, hint, format string, args ...any) {
		faults = append(faults, &work.ConfigError{Path: "config." + field, Err: fmt.Errorf(format, args...), Hint: hint})
	}
	if c.Endpoint != "" {
		if fault := sdk.EndpointFault(c.Endpoint); fault != "" {
			bad("endpoint", "http://gateway:9000", "%s", fault)
		}
	}
	if !slices.Contains([]Follow{Once, Names, Marks, Delete}, c.Follow) {
		bad("follow", "once, names, marks or delete", "%q is not known", c.Follow)
	}
	switch {
	case (c.Follow == Marks) != (c.Marks != ""):
		bad("marks", "follow: marks and marks: s3://bucket/done/", "marks and follow: marks go together")
	case c.Marks != "":
		if _, err := parsePlace(c.Marks); err != nil {
			bad("marks", "s3://bucket/done/", "%w", err)
		}
	}
	if c.Poll < work.Duration(time.Millisecond) {
		bad("poll", "30s", "%v is too short", time.Duration(c.Poll))
	}
	if c.Stall < work.Duration(time.Millisecond) {
		bad("stall", "30s", "%v is too short", time.Duration(c.Stall))
	}
	if c.Window < 1 || c.Window > work.MaxWindow {
		bad("window", "256", "%d is not between 1 and %d", c.Window, work.MaxWindow)
	}
	if len(faults) == 1 {
		return faults[0]
	}
	return errors.Join(faults...)
}
