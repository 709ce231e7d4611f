package work

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/publish"
)

// ErrToken is returned when the grant is no longer the newest of its partition: stop, because another owner is at work.
var ErrToken = errors.New("the token is old: the partition has a newer owner")

// Causes with which the ctx of a run ends; read them with context.Cause.
var (
	CauseMoved     = errors.New("moved to another member")
	CauseKilled    = errors.New("the job was killed or changed")
	CauseDrained   = errors.New("the member is draining or leaving")
	CauseLeaseLost = errors.New("the member cannot prove that it still owns the partition")
	CauseShutdown  = errors.New("the process is stopping")
)

// Grant is what a Runner gets: one partition to work on, under a token, until ctx ends.
type Grant struct {
	Partition cluster.PartitionID
	Job       cluster.JobID
	Task, Key string
	Parents   []string // keys of the finished partitions that it was split from
	// ListedBy is the key of the partitioner that listed this partition as an item of its window, or "". Input is what
	// it listed. See [Partitioner].
	ListedBy string
	Input    []byte
	// Index and Count are the share of a slot of a repartitioned task: this is number Index, from 0, of Count slots.
	// Within the limits of the task's hand-over, no run of the task overlaps with one that has another Count or the
	// same Index.
	Index, Count int64
	Member       cluster.MemberID
	// Token grows with each new owner. A run that failed, or was stopped because its member's lease had lapsed, may
	// start again in the same process under the same token.
	Token   cluster.Token
	Attempt int64 // failures so far
	// Planned is, in a round of a periodic type, the planned time of the round. A repetition of the round has the same
	// time, so it can name an effect.
	Planned    time.Time
	Definition Definition
	Log        *slog.Logger
	Host       Host
}

// Host executes a grant's methods; the supervisor's shell provides it, tests have their own.
type Host interface {
	// Emit takes samples that already carry their tags.
	Emit(samples ...publish.Sample)
	// Valid reports whether the member's lease for this grant is valid at this instant.
	Valid(g *Grant) bool
	// LoadPosition returns the stored position, nil if none.
	LoadPosition(ctx context.Context, g *Grant) ([]byte, error)
	// SavePosition stores the position; ErrToken if a newer owner already stored one.
	SavePosition(ctx context.Context, g *Grant, position []byte) error
	// Split proposes children of the partition and returns when they have been applied.
	Split(ctx context.Context, g *Grant, children []cluster.Child) error
}

// Emit publishes points of one series, with the task's tags, task, partition key and member added. It never blocks.
func (g *Grant) Emit(name string, tags map[string]string, points ...publish.Point) {
	all := make(map[string]string, len(tags)+len(g.Definition.Tags)+3)
	for k, v := range g.Definition.Tags {
		all[k] = v
	}
	for k, v := range tags {
		all[k] = v
	}
	id, _, _ := cutKey(g.Partition)
	all["task"], all["member"] = id, string(g.Member)
	if g.Key != "" {
		all["partition"] = g.Key
	}
	g.Host.Emit(publish.Sample{Name: name, Tags: all, Points: points})
}

// Value publishes one measurement, taken now.
func (g *Grant) Value(name string, v float64, tags map[string]string) {
	g.Emit(name, tags, publish.Point{AtMS: time.Now().UnixMilli(), Value: v})
}

// Valid reports whether this member's lease for the partition is valid at this instant. Call it right before an effect
// that is neither idempotent nor fenced by the token.
func (g *Grant) Valid() bool { return g.Host.Valid(g) }

// LoadPosition returns the position that SavePosition stored last, for any owner; nil if there is none.
func (g *Grant) LoadPosition(ctx context.Context) ([]byte, error) { return g.Host.LoadPosition(ctx, g) }

// SavePosition stores the position, or returns ErrToken if a newer owner already stored one.
func (g *Grant) SavePosition(ctx context.Context, position []byte) error {
	return g.Host.SavePosition(ctx, g, position)
}

// Split adds child partitions; see cluster.SplitPartition.
func (g *Grant) Split(ctx context.Context, children []cluster.Child) error {
	return g.Host.Split(ctx, g, children)
}

func cutKey(p cluster.PartitionID) (task, key string, ok bool) {
	job, t, k := p.Split()
	return string(cluster.NewPartitionID(job, t, "")), k, k != ""
}
