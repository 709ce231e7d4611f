package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicInfo is a topic as it stands.
type topicInfo struct {
	id         string
	partitions int32
}

// topic asks how many partitions a topic has.
func (r *reader) topic(ctx context.Context, name string, timeout time.Duration) (topicInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	m, err := kadm.NewClient(r.client).Metadata(ctx, name)
	if err != nil {
		return topicInfo{}, r.explain("look up topic "+name, err)
	}
	t, ok := m.Topics[name]
	if !ok || t.Err != nil {
		return topicInfo{}, r.explain("look up topic "+name, errors.Join(t.Err))
	}
	out := topicInfo{partitions: int32(len(t.Partitions))}
	if t.ID != (kadm.TopicID{}) {
		out.id = t.ID.String()
	}
	return out, nil
}

// bounds asks what a partition has now.
func (r *reader) bounds(ctx context.Context, p part, timeout time.Duration) (b bounds, err error) {
	t, err := r.topic(ctx, p.topic, timeout)
	if err != nil {
		return b, err
	}
	if p.number >= t.partitions {
		return b, fmt.Errorf("the topic %s has %d partitions, there is no %d: was it recreated with fewer? submit the job again", p.topic, t.partitions, p.number)
	}
	b.topic = t.id
	if b.start, err = r.list(ctx, p, atStart, timeout); err == nil {
		b.end, err = r.list(ctx, p, atEnd, timeout)
	}
	return b, err
}

// What ListOffsets is asked for, in place of a timestamp.
const (
	atStart = -2
	atEnd   = -1
)

func (r *reader) list(ctx context.Context, p part, what int64, timeout time.Duration) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	one := kmsg.NewListOffsetsRequestTopicPartition()
	one.Partition, one.Timestamp = p.number, what
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic, topic.Partitions = p.topic, append(topic.Partitions, one)
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.Topics = -1, append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, r.client)
	doing := fmt.Sprintf("ask for the offsets of %s/%d", p.topic, p.number)
	if err != nil {
		return 0, r.explain(doing, err)
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return 0, fmt.Errorf("%s: the answer has another form", doing)
	}
	got := resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
		return 0, r.explain(doing, err)
	}
	return got.Offset, nil
}

// committed asks what a group has committed for a partition; nil for nothing.
func (r *reader) committed(ctx context.Context, group string, p part, timeout time.Duration) (*position, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	doing := "ask for the offsets of group " + group
	all, err := kadm.NewClient(r.client).FetchOffsetsForTopics(ctx, group, p.topic)
	got, ok := all.Lookup(p.topic, p.number)
	switch {
	case errors.Is(err, kerr.GroupIDNotFound) || errors.Is(got.Err, kerr.GroupIDNotFound): // there is none before the first commit
		return nil, nil
	case err != nil:
		return nil, r.explain(doing, err)
	case !ok || got.Err == nil && got.At < 0:
		return nil, nil
	case got.Err != nil:
		return nil, r.explain(doing, got.Err)
	}
	return &position{Offset: got.At, Epoch: got.LeaderEpoch}, nil
}

// commit tells a group how far a partition was consumed.
func (r *reader) commit(ctx context.Context, group string, p part, at position, note string) error {
	var all kadm.Offsets
	all.Add(kadm.Offset{Topic: p.topic, Partition: p.number, At: at.Offset, LeaderEpoch: at.Epoch, Metadata: note})
	if err := kadm.NewClient(r.client).CommitAllOffsets(ctx, group, all); err != nil {
		return r.explain("commit to group "+group, err)
	}
	return nil
}

// explain says what to try.
func (r *reader) explain(doing string, err error) error {
	var auth *kadm.AuthError
	if errors.As(err, &auth) {
		err = auth.Err
	}
	err = fmt.Errorf("%s at %s: %w", doing, r.name, err)
	if hint := hint(err); hint != "" {
		return fmt.Errorf("%w: %s", err, hint)
	}
	if away := r.away.cause(); away != nil {
		err = fmt.Errorf("%w: %w", err, away)
		if hint := hint(away); hint != "" {
			return fmt.Errorf("%w: %s", err, hint)
		}
		return fmt.Errorf("%w: look whether the brokers run and are reached from here, also under the names that they advertise", err)
	}
	return err
}

// hint is what to try; "" where nothing is known.
func hint(err error) string {
	var eof *kgo.ErrFirstReadEOF
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return "create the topic, or correct its name in the task's partitions"
	case errors.Is(err, kerr.UnknownTopicID):
		return "the topic was deleted, or recreated: its partitions are asked for again"
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return "allow the client's user to Describe and Read the topic, or give the loop's options the right user"
	case errors.Is(err, kerr.GroupAuthorizationFailed):
		return "allow the client's user to Read the group, or leave config.group empty"
	case errors.Is(err, kerr.SaslAuthenticationFailed), errors.Is(err, kerr.UnsupportedSaslMechanism),
		errors.Is(err, kerr.IllegalSaslState):
		return "correct the user, password or mechanism in the loop's options"
	case errors.Is(err, kerr.UnknownMemberID), errors.Is(err, kerr.RebalanceInProgress),
		errors.Is(err, kerr.IllegalGeneration), errors.Is(err, kerr.NonEmptyGroup):
		return "the group has members of its own: stop them, or set config.group to a group without"
	case errors.As(err, &eof), errors.Is(err, io.EOF):
		return "the broker hung up at once: it wants TLS, SASL or another password, or none of them; see the loop's options"
	case err != nil && strings.Contains(err.Error(), "tls: "):
		return "look at the certificates, and whether that port of the broker speaks TLS"
	}
	return ""
}
