package stage

import (
	"context"
	"fmt"
	"strings"

	"github.com/rota-run/rota/store"
)

type (
	batchKey struct{}
	taskKey  struct{}
)

// BatchName names the batch that a function works on: the same for everybody who works on it again, and no other batch of the task has it. An output
// that overwrites what it has written under this name writes each segment once. "" outside of a function of a stage.
func BatchName(ctx context.Context) string {
	name, _ := ctx.Value(batchKey{}).(string)
	return name
}

// BatchKey is BatchName with the submission of the job and the task: no other batch of any job has it. "" outside of a function of a stage.
func BatchKey(ctx context.Context) string {
	task, ok := ctx.Value(taskKey{}).(string)
	if !ok {
		return ""
	}
	return task + "/" + BatchName(ctx)
}

// named is a context in which a batch has its name.
func named(ctx context.Context, m store.Message) context.Context {
	from := m.Shard.Edge
	if parts := strings.Split(from, "/"); len(parts) == 3 { // edge/FROM/TO
		from = parts[1]
	}
	return context.WithValue(ctx, batchKey{}, fmt.Sprintf("%s.%d.%d", from, m.Shard.Number, m.Number))
}

// segmentNamed is a context in which one segment of a batch has a name of its own.
func segmentNamed(ctx context.Context, i int) context.Context {
	return context.WithValue(ctx, batchKey{}, fmt.Sprintf("%s.%d", BatchName(ctx), i))
}
