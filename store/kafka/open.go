package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine"
	"github.com/rota-run/rota/store/engine/full"
	inner "github.com/rota-run/rota/store/internal/driver"
	"github.com/rota-run/rota/store/internal/remote"
)

// The names of the logs of a store: that of members, and that of rows.
const (
	mainLog = "log"
	rowsLog = "docs"
)

// topicsOf are the topics of a log of a store: of its records, and of its values.
func topicsOf(store, log string) []string {
	return []string{store + "." + log, store + "." + log + "-values"}
}

// formerTopic is one that earlier versions made beside those of mainLog.
func formerTopic(store string) string { return store + ".log-snapshots" }

// Open opens the named store, and creates its topics if they do not exist and the options allow that. It takes no
// longer than the options' Timeout. An error says what failed, where, and what to try; then nothing is left open. ctx
// bounds only Open.
func Open(ctx context.Context, o Options) (*Store, error) {
	o = o.withDefaults()
	c, err := openCluster(ctx, o)
	if err != nil {
		return nil, err
	}
	s := full.NewWatched(c, full.Options{Place: o.place(), ReadOnly: o.ReadOnly, Logger: o.Logger})
	return &Store{s, &group{c.line, o.Name, o.ReadOnly}, c}, nil
}

// Driver is what [OpenDriver] returns.
type Driver interface {
	engine.Driver
	driver.NamedJournals
}

// OpenDriver opens what Open makes a store of, for tests of drivers. It takes changes even if o.ReadOnly.
func OpenDriver(ctx context.Context, o Options) (Driver, error) {
	c, err := openCluster(ctx, o.withDefaults())
	if err != nil {
		return nil, err
	}
	return c, nil
}

func openCluster(ctx context.Context, o Options) (*cluster, error) {
	c, err := open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", o.place(), err)
	}
	return c, nil
}

func open(ctx context.Context, o Options) (*cluster, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, errTimeout)
	defer cancel()
	client, err := o.newClient()
	if err != nil {
		return nil, err
	}
	l := &line{
		client: client, newTail: o.newClient, timeout: o.Timeout, log: o.Logger.With("store", o.Name),
		life: inner.NewLife(),
	}
	topics, err := prepare(ctx, l, o)
	if err != nil {
		go client.Close() // a request in flight is not waited for
		return nil, readError(ctx, err)
	}
	return newCluster(o, l, topics), nil
}

// prepare finds the topics of a store, or makes them, and checks them.
func prepare(ctx context.Context, l *line, o Options) ([]*topic, error) {
	former, err := describe(ctx, l.client, formerTopic(o.Name))
	if err != nil {
		return nil, err
	}
	if former[formerTopic(o.Name)].ErrorCode == 0 {
		return nil, remote.CheckFormat(1, 2, "give another name, or delete the topics whose names begin with "+o.Name)
	}
	names := append(topicsOf(o.Name, mainLog), topicsOf(o.Name, rowsLog)...)
	info, err := lookUp(ctx, l, o, names)
	if err != nil {
		return nil, err
	}
	topics := make([]*topic, len(names))
	for i, name := range names {
		if n := len(info[name].Partitions); n != 1 {
			return nil, fmt.Errorf("%w: topic %s has %d partitions, and its order needs exactly one: try another name, or make it again: %s",
				store.ErrUnavailable, name, n, createCommand(name, 0))
		}
		if !o.ReadOnly && mayOnlyRead(info[name]) {
			return nil, topicError(name, kerr.TopicAuthorizationFailed.Code)
		}
		topics[i] = newTopic(l, info[name])
	}
	return topics, checkSettings(ctx, l.client, topics)
}

// mayOnlyRead reports whether the brokers say that the user may not write to a topic. Some say nothing, or all.
func mayOnlyRead(m kmsg.MetadataResponseTopic) bool {
	return m.AuthorizedOperations != math.MinInt32 && m.AuthorizedOperations&(1<<kmsg.ACLOperationWrite) == 0
}

// lookUp asks for the topics until all are there and have a leader. It makes those that are missing.
func lookUp(ctx context.Context, l *line, o Options, names []string) (map[string]kmsg.MetadataResponseTopic, error) {
	for try := 1; ; try++ {
		info, brokers, err := describeAll(ctx, l.client, names...)
		if err != nil {
			return nil, err
		}
		missing, waiting := []string{}, false
		for _, name := range names {
			switch m := info[name]; {
			case m.ErrorCode == kerr.UnknownTopicOrPartition.Code:
				missing = append(missing, name)
			case m.ErrorCode != 0 && !kerr.IsRetriable(kerr.ErrorForCode(m.ErrorCode)):
				return nil, topicError(name, m.ErrorCode)
			case m.ErrorCode != 0 || len(m.Partitions) > 0 && m.Partitions[0].Leader < 0:
				waiting = true
			}
		}
		switch {
		case len(missing) == 0 && !waiting:
			return info, nil
		case len(missing) > 0 && o.MustExist:
			return nil, fmt.Errorf("%w: topic %s", store.ErrNotFound, missing[0])
		case len(missing) > 0:
			if err := create(ctx, l.client, o, brokers, missing); err != nil {
				return nil, err
			}
		}
		if err := pause(ctx, backoff(try)); err != nil {
			return nil, fmt.Errorf("wait for topic %s and its leader: %w", strings.Join(names, ", "), err)
		}
	}
}

// settings are those of our topics: nothing is ever removed but by us, and what was acknowledged is on most replicas.
func settings(replicas int) [][2]string {
	return [][2]string{
		{"cleanup.policy", "delete"},
		{"retention.ms", "-1"},
		{"retention.bytes", "-1"},
		{"min.insync.replicas", strconv.Itoa(replicas/2 + 1)},
		{"unclean.leader.election.enable", "false"},
	}
}

// createCommand is what makes a topic as it must be; replicas 0: as the cluster has it by default.
func createCommand(name string, replicas int) string {
	out := "`kafka-topics.sh --bootstrap-server HOST:PORT --create --partitions 1"
	if replicas > 0 {
		out += " --replication-factor " + strconv.Itoa(replicas)
	}
	for _, s := range settings(max(replicas, 1)) {
		if replicas > 0 || s[0] != "min.insync.replicas" {
			out += " --config " + s[0] + "=" + s[1]
		}
	}
	return out + " --topic " + name + "`"
}

func create(ctx context.Context, c *kgo.Client, o Options, brokers int, names []string) error {
	replicas := o.Replicas
	if replicas == 0 {
		replicas = max(min(defaultReplicas, brokers), 1)
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(o.Timeout.Milliseconds())
	for _, name := range names {
		one := kmsg.NewCreateTopicsRequestTopic()
		one.Topic, one.NumPartitions, one.ReplicationFactor = name, 1, int16(replicas)
		for _, s := range settings(replicas) {
			set := kmsg.NewCreateTopicsRequestTopicConfig()
			set.Name, set.Value = s[0], kmsg.StringPtr(s[1])
			one.Configs = append(one.Configs, set)
		}
		req.Topics = append(req.Topics, one)
	}
	resp, err := request[*kmsg.CreateTopicsResponse](ctx, c, req)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		switch err := kerr.ErrorForCode(t.ErrorCode); {
		case err == nil, errors.Is(err, kerr.TopicAlreadyExists), kerr.IsRetriable(err):
		case errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.ClusterAuthorizationFailed):
			return fmt.Errorf("%w: the user may not make topic %s: %w: try %s, and let the user in: %s",
				store.ErrUnavailable, t.Topic, err, createCommand(t.Topic, replicas), aclCommand("topic", o.Name))
		default:
			return fmt.Errorf("%w: make topic %s: %w%s: try %s", store.ErrUnavailable, t.Topic, err,
				said(t.ErrorMessage), createCommand(t.Topic, replicas))
		}
	}
	return nil
}

func said(message *string) string {
	if message == nil || *message == "" {
		return ""
	}
	return " (" + *message + ")"
}

// errSettings is a topic whose settings would lose records, or refuse some.
var errSettings = errors.New("a setting of the topic would lose records, or refuse some")

// checkSettings refuses topics that lose records by themselves, or take too little.
func checkSettings(ctx context.Context, c *kgo.Client, topics []*topic) error {
	req := kmsg.NewPtrDescribeConfigsRequest()
	byName := make(map[string]*topic, len(topics))
	for _, t := range topics {
		byName[t.name] = t
		one := kmsg.NewDescribeConfigsRequestResource()
		one.ResourceType, one.ResourceName = kmsg.ConfigResourceTypeTopic, t.name
		req.Resources = append(req.Resources, one)
	}
	resp, err := request[*kmsg.DescribeConfigsResponse](ctx, c, req)
	if err != nil {
		return err
	}
	for _, r := range resp.Resources {
		if err := topicError(r.ResourceName, r.ErrorCode); err != nil {
			return err
		}
		t := byName[r.ResourceName]
		if t == nil {
			continue
		}
		for _, set := range r.Configs {
			if err := t.check(set.Name, set.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *topic) check(name string, value *string) error {
	if value == nil {
		return nil
	}
	want := ""
	switch name {
	case "cleanup.policy":
		want = "delete"
	case "retention.ms", "retention.bytes":
		want = "-1"
	case "max.message.bytes":
		if n, err := strconv.Atoi(*value); err == nil && n < maxBatch {
			want = strconv.Itoa(maxBatch)
		}
	}
	if want == "" || *value == want {
		return nil
	}
	return fmt.Errorf("%w: %w: topic %s has %s=%s: try `kafka-configs.sh --bootstrap-server HOST:PORT --alter --entity-type topics --entity-name %s --add-config %s=%s`",
		store.ErrUnavailable, errSettings, t.name, name, *value, t.name, name, want)
}
