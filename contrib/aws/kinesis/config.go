package kinesis

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/rota-run/rota/contrib/aws/internal/sdk"
	"github.com/rota-run/rota/work"
)

// Config is what all members are told through the task. The zero value reads all that streams of
// AWS still have, in the region of the process. Credentials have no place in it: each process finds
// its own, by the SDK's chain (environment, shared files, role of the machine).
type Config struct {
	Region   string `json:"region,omitempty"`   // default: that of the process
	Endpoint string `json:"endpoint,omitempty"` // URL of another server with the same API; default: AWS
	// From leaves out records that arrived before it, by the clock of the stream; default: none.
	From  time.Time     `json:"from,omitzero"`
	Poll  work.Duration `json:"poll,omitempty"`  // how long to wait when a shard has nothing new; default 1 s
	Batch int32         `json:"batch,omitempty"` // most records of one call of Take; default 1,000
}

// Bounds of requests.
const (
	mostBatch = 10_000
	hurry     = 200 * time.Millisecond // AWS allows five requests a second for each shard
	stall     = 30 * time.Second       // an answer that has not begun by then does not come
)

func (c Config) withDefaults() Config {
	c.Poll = cmp.Or(c.Poll, work.Duration(time.Second))
	c.Batch = cmp.Or(c.Batch, 1000)
	return c
}

// validate tells every fault at once.
func (c Config) validate() error {
	var faults []error
	bad := func(field, hint, format string, args ...any) {
		faults = append(faults, &work.ConfigError{Path: "config." + field, Err: fmt.Errorf(format, args...),
			Hint: hint})
	}
	if c.Endpoint != "" {
		if fault := sdk.EndpointFault(c.Endpoint); fault != "" {
			bad("endpoint", "http://server:4567", "%s", fault)
		}
	}
	if c.Poll < work.Duration(time.Millisecond) {
		bad("poll", "1s", "%v is too short", time.Duration(c.Poll))
	}
	if c.Batch < 1 || c.Batch > mostBatch {
		bad("batch", "1000", "%d is not between 1 and %d", c.Batch, mostBatch)
	}
	if len(faults) == 1 {
		return faults[0]
	}
	return errors.Join(faults...)
}

// explain says what was being done, where, and what to try.
func (s stream) explain(doing string, err error) error {
	where := "AWS in " + s.client.Options().Region
	if s.config.Endpoint != "" {
		where = s.config.Endpoint
	}
	err = fmt.Errorf("%s at %s: %w", doing, where, err)
	if hint := s.hint(err); hint != "" {
		return fmt.Errorf("%w (try: %s)", err, hint)
	}
	return err
}

// hint is what to try; "" where nothing is known.
func (s stream) hint(err error) string {
	switch c := sdk.Code(err); {
	case c == "ResourceNotFoundException":
		return "create the stream " + s.name + ", or correct region and the task's partitions; " +
			"a shard is gone when all its records are older than the stream keeps them: " +
			"then submit the job under another name, which reads what is left"
	case c == "AccessDeniedException" || sdk.Status(err) == http.StatusForbidden:
		return "allow this process kinesis:ListShards, kinesis:GetShardIterator and kinesis:GetRecords " +
			"on the stream " + s.name
	}
	return sdk.Hint(err, "", "")
}
