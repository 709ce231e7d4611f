package kinesis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/cluster"
)

// stream is one of the task's streams.
type stream struct {
	client *kinesis.Client
	config Config
	name   string
}

// begin adds the shards that continue no other one. Those that do are added where the others end.
func (s stream) begin(ctx context.Context, g *rota.Grant) error {
	all, err := s.list(ctx, g.Key)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(all.children(s.name), cluster.MaxChildren) {
		if err := g.Split(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// end adds the shards that continue one which has ended.
func (s stream) end(ctx context.Context, g *rota.Grant) error {
	all, err := s.list(ctx, g.Key)
	if err != nil {
		return err
	}
	children := all.children(g.Key)
	if len(children) == 0 {
		return fmt.Errorf("%s has ended, and no shard continues it (try: look whether the stream is being deleted)",
			g.Key)
	}
	job, task, _ := g.Partition.Split()
	host, ok := g.Host.(interface{ Whole() rota.Value }) // not rota.MemberFrom: the command rota has no rota.Member
	if !ok {
		return fmt.Errorf("%s has ended: this host does not know the other shards: %w", g.Key, errors.ErrUnsupported)
	}
	p := present{all, host.Whole(), job, task}
	children = slices.DeleteFunc(children, func(c cluster.Child) bool {
		return p.has(c.Key) || slices.ContainsFunc(c.Parents, p.comes)
	})
	if len(children) == 0 {
		return nil
	}
	return g.Split(ctx, children)
}

// present is what the cluster knows of the shards.
type present struct {
	shards
	value rota.Value
	job   cluster.JobID
	task  string
}

func (p present) has(key string) bool {
	_, ok := p.value.Partition(cluster.NewPartitionID(p.job, p.task, key))
	return ok
}

// comes tells whether a shard is not there yet, and will be: then it is the one that adds the child
// it has in common with one that has ended before.
func (p present) comes(key string) bool {
	return !p.has(key) && slices.ContainsFunc(p.shards[key], func(parent string) bool {
		old, ok := p.value.Partition(cluster.NewPartitionID(p.job, p.task, parent))
		return ok && old.State != cluster.PartitionFinished || p.comes(parent)
	})
}

// shards are the keys of what each shard continues, by its key: one shard, two after a merge; the
// stream itself where the stream has forgotten what that was.
type shards map[string][]string

// list asks for all shards whose records the stream still has. What has just been read may be
// forgotten already: it counts as listed.
func (s stream) list(ctx context.Context, read string) (shards, error) {
	all := shards{read: nil}
	for in := (&kinesis.ListShardsInput{StreamName: &s.name}); in != nil; {
		out, err := s.client.ListShards(ctx, in)
		if err != nil {
			return nil, s.explain("list the shards of "+s.name, err)
		}
		for _, one := range out.Shards {
			all[s.key(one.ShardId)] = []string{s.key(one.ParentShardId), s.key(one.AdjacentParentShardId)}
		}
		in = nil
		if out.NextToken != nil {
			in = &kinesis.ListShardsInput{NextToken: out.NextToken}
		}
	}
	for key, parents := range all {
		parents = slices.DeleteFunc(slices.Clone(parents), func(p string) bool { _, listed := all[p]; return !listed })
		slices.Sort(parents)
		if len(parents) == 0 && key != s.name {
			parents = []string{s.name}
		}
		all[key] = parents
	}
	return all, nil
}

// key is that of the partition of a shard.
func (s stream) key(id *string) string { return s.name + "/" + aws.ToString(id) }

// children are the shards that continue one, in the order of their keys.
func (a shards) children(key string) (children []cluster.Child) {
	for child, parents := range a {
		if slices.Contains(parents, key) {
			children = append(children, cluster.Child{Key: child, Parents: parents})
		}
	}
	slices.SortFunc(children, func(a, b cluster.Child) int { return cmp.Compare(a.Key, b.Key) })
	return children
}
