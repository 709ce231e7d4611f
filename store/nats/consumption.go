package nats

import (
	"github.com/nats-io/nats.go/jetstream"
)

// consumption is a consumer at work.
type consumption struct {
	jetstream.ConsumeContext
	watch    *watch
	consumer jetstream.Consumer
}

// stop ends the consumer, returns when its last message was handled, and lets the server forget it. The client would leave that to time.
func (c *consumption) stop() {
	c.Stop()
	<-c.Closed()
	info := c.consumer.CachedInfo()
	if info == nil || !c.watch.store.line.whole() {
		return
	}
	conn := c.watch.store.conn
	err := conn.PublishRequest("$JS.API.CONSUMER.DELETE."+info.Stream+"."+info.Name, conn.NewInbox(), nil) // nobody waits for the answer
	if err != nil {
		c.watch.store.log.Debug("remove a consumer", "stream", info.Stream, "err", err)
	}
}
