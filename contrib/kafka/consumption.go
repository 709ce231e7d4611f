package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/work"
)

// lastSave bounds the save of a run whose context has ended.
const lastSave = 5 * time.Second

// consumption is one run of one partition of a topic.
type consumption struct {
	loop   Loop
	reader *reader
	grant  *rota.Grant
	config Config
	part   part

	at    position
	saved position // what the cluster has
	due   *time.Timer
	taken int64 // records since the last save
	end   int64 // of the partition, as the last fetch saw it
}

func (c *consumption) run(ctx context.Context) error {
	b, err := c.begin(ctx)
	if err != nil {
		return err
	}
	if b.why != "" {
		c.grant.Log.Warn(b.why, "goes on at", b.at.Offset, "lost", b.lost)
	}
	if b.lost > 0 {
		c.grant.Value("kafka_records_lost", float64(b.lost), c.tags())
	}
	c.at, c.saved = b.at, b.at
	if b.news {
		if err := c.write(ctx); err != nil {
			return err
		}
	}
	c.due = time.NewTimer(time.Duration(c.config.Save))
	c.due.Stop()
	defer c.due.Stop()
	p := partition{c.part.topic, c.part.number}
	feed := c.reader.consume(p, c.at)
	defer c.reader.leave(p)
	err = c.loopOver(ctx, feed)
	return errors.Join(err, c.finish(ctx, err))
}

// loopOver hands records over until the run has to end.
func (c *consumption) loopOver(ctx context.Context, f *feed) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.due.C:
			if err := c.save(ctx); err != nil {
				return err
			}
		case <-f.ready:
			b, ok := f.next()
			if !ok {
				continue
			}
			if err := c.handle(ctx, b); err != nil {
				return err
			}
		}
	}
}

// handle hands over one fetch, in pieces.
func (c *consumption) handle(ctx context.Context, b batch) error {
	c.end = b.end
	for len(b.records) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !c.grant.Valid() {
			return work.CauseLeaseLost
		}
		some := b.records[:min(len(b.records), c.config.MaxRecords)]
		done, err := c.loop.Take(ctx, c.grant, some)
		if done < 0 || done > len(some) {
			return fmt.Errorf("take %d records: the loop says that %d are done", len(some), done)
		}
		c.advance(some[:done])
		switch {
		case err != nil && done < len(some):
			return fmt.Errorf("take the record at offset %d: %w", some[done].Offset, err)
		case err != nil:
			return fmt.Errorf("take records up to offset %d: %w", c.at.Offset-1, err)
		case done < len(some):
			return fmt.Errorf("take the record at offset %d: the loop did not, and gave no reason", some[done].Offset)
		}
		b.records = b.records[len(some):]
		if err := c.saveIfDue(ctx); err != nil {
			return err
		}
	}
	return c.fetchFault(b.err)
}

// fetchFault reports what a fetch returned in place of records. Some errors are no reason to stop: the client retries
// by itself.
func (c *consumption) fetchFault(err error) error {
	var lost *kgo.ErrDataLoss
	switch {
	case err == nil:
		return nil
	case errors.As(err, &lost):
		c.grant.Log.Warn("brokers have lost records that were acknowledged", "consumed to", lost.ConsumedTo,
			"goes on at", lost.ResetTo)
		return nil
	}
	return c.reader.explain("fetch "+c.part.key(), err)
}

func (c *consumption) advance(done []*kgo.Record) {
	if len(done) == 0 {
		return
	}
	if c.at == c.saved {
		c.due.Reset(time.Duration(c.config.Save))
	}
	last := done[len(done)-1]
	c.at = position{Offset: last.Offset + 1, Epoch: last.LeaderEpoch, Topic: c.at.Topic}
	c.taken += int64(len(done))
}

func (c *consumption) saveIfDue(ctx context.Context) error {
	select {
	case <-c.due.C:
		return c.save(ctx)
	default:
		return nil
	}
}

// save writes the position if it has changed. If the cluster's store does not answer, the run goes on: its grant ends
// by itself when that lasts.
func (c *consumption) save(ctx context.Context) error {
	if c.at == c.saved {
		return nil
	}
	err := c.write(ctx)
	switch {
	case err == nil:
		c.measure()
		return nil
	case errors.Is(err, work.ErrToken) || ctx.Err() != nil:
		return err
	}
	c.grant.Log.Warn("the position was not saved; it is tried again", "offset", c.at.Offset, "cause", err.Error())
	c.due.Reset(time.Duration(c.config.Save))
	return nil
}

func (c *consumption) write(ctx context.Context) error {
	data, err := c.at.encode()
	if err == nil {
		err = c.grant.SavePosition(ctx, data)
	}
	if err != nil {
		return err
	}
	c.saved = c.at
	if c.config.Group == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.config.Timeout))
	defer cancel()
	err = c.reader.commit(ctx, c.config.Group, c.part, c.at, fmt.Sprintf("rota token %d", c.grant.Token))
	if err != nil {
		c.grant.Log.Warn("the group does not know the position", "offset", c.at.Offset, "cause", err.Error())
	}
	return nil
}

// finish saves where a run has come that ends, whatever it ends for: its context may have ended already.
func (c *consumption) finish(ctx context.Context, why error) error {
	if c.at == c.saved || errors.Is(why, work.ErrToken) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSave)
	defer cancel()
	if err := c.write(ctx); err != nil {
		return err
	}
	c.measure()
	return nil
}

// measure tells how many records were taken, and how many are left.
func (c *consumption) measure() {
	c.grant.Value("kafka_records", float64(c.taken), c.tags())
	c.grant.Value("kafka_lag", float64(max(0, c.end-c.at.Offset)), c.tags())
	c.taken = 0
}

func (c *consumption) tags() map[string]string { return map[string]string{"topic": c.part.topic} }
