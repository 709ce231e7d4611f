package pubsub_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	client "cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"github.com/rota-run/rota/contrib/google/internal/emulator"
	"github.com/rota-run/rota/contrib/google/pubsub"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/publish"
)

// What is published before there is a topic arrives when there is one, in its order.
func TestPublish(t *testing.T) {
	emulator.Each(t, func(t *testing.T, s emulator.Servers) {
		t.Setenv("PUBSUB_EMULATOR_HOST", s.PubSub())
		project := emulator.Project()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		p, err := pubsub.Open(project + "/samples?ordering=on")
		must.Succeed(t, err)
		running, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- p.Run(running) }()
		const n = 30
		for i := range n {
			p.Publish(publish.Sample{Name: "load", Points: []publish.Point{{AtMS: int64(i), Value: float64(i)}}})
		}
		for p.Stats().Errors == 0 && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond) // waits: for the topic to be missed
		}
		c, err := client.NewClient(ctx, project)
		must.Succeed(t, err)
		defer c.Close()
		topic, sub := "projects/"+project+"/topics/samples", "projects/"+project+"/subscriptions/all"
		must.Succeed(t, must.Err(c.TopicAdminClient.CreateTopic(ctx, &pubsubpb.Topic{Name: topic})))
		must.Succeed(t, must.Err(c.SubscriptionAdminClient.CreateSubscription(ctx,
			&pubsubpb.Subscription{Name: sub, Topic: topic, EnableMessageOrdering: true})))
		// What came between topic and subscription nobody gets: these do.
		for p.Stats().Queued > 0 && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond) // waits: for the queue to be sent
		}
		for i := range n {
			p.Publish(publish.Sample{Name: "late", Points: []publish.Point{{AtMS: int64(i), Value: float64(i)}}})
		}
		var got []string
		for len(got) < n && ctx.Err() == nil {
			answer, err := c.SubscriptionAdminClient.Pull(ctx,
				&pubsubpb.PullRequest{Subscription: sub, MaxMessages: 100})
			must.Succeed(t, err)
			var acks []string
			for _, m := range answer.ReceivedMessages {
				acks = append(acks, m.AckId)
				if m.Message.Attributes["name"] == "late" {
					got = append(got, string(m.Message.Data))
				}
			}
			if len(acks) > 0 {
				must.Succeed(t, c.SubscriptionAdminClient.Acknowledge(ctx,
					&pubsubpb.AcknowledgeRequest{Subscription: sub, AckIds: acks}))
			}
		}
		for i := range got {
			if want := fmt.Sprintf(`{"name":"late","tags":{},"points":[[%d,%d]]}`, i, i); got[i] != want {
				t.Errorf("message %d is %s, want %s", i, got[i], want)
			}
		}
		stop()
		if err := <-ended; err != nil || len(got) != n || p.Stats().Sent != 2*n {
			t.Errorf("%d of %d came; %+v; %v", len(got), n, p.Stats(), err)
		}
	})
}
