package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// askPrefix is where documents say for which partitions people ask for a round now. They are beside the value, so that
// every protocol and every format of entries has them: decision 64.
const askPrefix = "run-now/"

// askWord is such a document.
type askWord struct {
	Partition cluster.PartitionID `json:"partition"`
	By        string              `json:"by,omitempty"`
	AtMS      int64               `json:"at_ms"`
}

// askTries bounds the tries to write one; only those who ask at the same moment compete, and owners that have just
// answered.
const askTries = 8

// Ask is a request for one round, until its owner has run it.
type Ask struct{ key, version string }

// AskRound asks the owner of a periodic partition for a round that begins after this: at once, or when the present
// round is over. A round that waits for a worker already is that one. The planned rounds stay as they are. If the owner
// stops or dies before the round is over, the next owner runs it.
func AskRound(ctx context.Context, docs store.Docs, p cluster.PartitionID, by string) (Ask, error) {
	value, err := json.Marshal(askWord{p, by, time.Now().UnixMilli()})
	d := store.Doc{Key: askKey(p), Value: value}
	for try := 0; err == nil && try < askTries; try++ {
		var old store.Doc
		if old, err = docs.Get(ctx, d.Key); err != nil && !errors.Is(err, store.ErrNotFound) {
			break
		}
		d.Version = old.Version
		v, putErr := docs.Put(ctx, d)
		if err = putErr; err == nil {
			return Ask{d.Key, string(v)}, nil
		}
		if errors.Is(err, store.ErrConflict) {
			err = nil
		}
	}
	if err == nil {
		err = store.ErrConflict
	}
	return Ask{}, fmt.Errorf("ask for a round of %s: %w", p, err)
}

// Answered reports whether the round is over, or somebody has asked once more since.
func (a Ask) Answered(ctx context.Context, docs store.Docs) (bool, error) {
	d, err := docs.Get(ctx, a.key)
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	return err == nil && string(d.Version) != a.version, err
}

func askKey(p cluster.PartitionID) string {
	return askPrefix + strings.TrimPrefix(positionKey(p), positionPrefix)
}

// Rounds are the partitions of a job, or the one of that name, whose owners can be asked for a round. The error says
// why there are none; types are those that this program knows.
func Rounds(v cluster.Value, name string, types work.Types) ([]cluster.PartitionID, error) {
	job, task, _ := cluster.PartitionID(name).Split()
	j, ok := v.Job(job)
	switch {
	case !ok || j.State != cluster.JobRunning:
		return nil, errors.New("no such live task")
	case j.Paused():
		return nil, fmt.Errorf("it is paused by %s", j.PausedBy)
	}
	if name != string(job) {
		spec, ok := j.Task(task)
		if _, there := v.Partition(cluster.PartitionID(name)); !ok || !there {
			return nil, errors.New("no such live task")
		}
		return []cluster.PartitionID{cluster.PartitionID(name)}, hasRounds(spec, types)
	}
	var out []cluster.PartitionID
	err := errors.New("it has no partition now")
	for p := range v.PartitionsOf(job) {
		_, task, _ := p.ID.Split()
		spec, ok := j.Task(task)
		if !ok || p.Dropped || p.State == cluster.PartitionFinished {
			continue
		}
		if why := hasRounds(spec, types); why != nil {
			err = why
			continue
		}
		out = append(out, p.ID)
	}
	if len(out) > 0 {
		err = nil
	}
	return out, err
}

// hasRounds says why a task runs in no rounds; nil if it does.
func hasRounds(spec *cluster.TaskSpec, types work.Types) error {
	d, err := decodeDefinition(spec)
	if err != nil {
		return err
	}
	switch t, known := types[spec.Type]; {
	case t.Periodic, !known && (d.EveryMS > 0 || d.Cron != ""):
		return nil
	case known:
		return fmt.Errorf("a task of type %s runs all the time, not in rounds", spec.Type)
	}
	return fmt.Errorf("type %s is not known here, and the task has neither every nor cron", spec.Type)
}
