package kinesis

import (
	"fmt"
	"net/http"

	"github.com/rota-run/rota/contrib/aws/internal/sdk"
)

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
