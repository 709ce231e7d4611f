package rota

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/internal/operate"
	"github.com/rota-run/rota/source"
)

// SubmitFile submits the job that a file in YAML or JSON defines (several tasks, or one), checked with the task types of this member, and returns the
// job's name when it is accepted. The file's name tells the format and, where the definition has none, the name of the job; data is its content, so it
// may be embedded. What is wrong with the definition is a *[source.MalformedError]: file, line, column, and what to try. A job that is there already
// with the same definition is accepted again, with another one refused, see [ErrRefused]; its run is not repeated. One that was killed stays so, see [ErrKilled].
func (m *Member) SubmitFile(ctx context.Context, name string, data []byte) (job string, err error) {
	id, spec, err := source.ParseJob(name, data, m.types, nil)
	if err != nil {
		return "", fmt.Errorf("submit job: %w", err)
	}
	return string(id), m.ask(ctx, fmt.Sprintf("submit job %q", id), func(ctx context.Context) (operate.Answer, error) { return m.ops.Submit(ctx, id, spec, 0) })
}
