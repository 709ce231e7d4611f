package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/rotacmd/stores"
	"github.com/rota-run/rota/store"
)

func queueFlag(flags *pflag.FlagSet) {
	flags.String("queue", "", "the queue that has the segments of flows, if it is not the store: a URL like that of a store; the same for all members")
}

// openQueue opens the queue at a URL. Without one the broker is the zero value: the store's own.
func (e env) openQueue(ctx context.Context, url string, a stores.Access) (b store.Broker, c io.Closer, err error) {
	if url == "" {
		return b, io.NopCloser(nil), nil
	}
	st, err := openStore(ctx, e, url, a)
	var f *fault
	if errors.As(err, &f) {
		f.try = strings.ReplaceAll(f.try, "--store", "--queue")
	}
	if err != nil {
		return b, nil, fmt.Errorf("queue %s: %w", storeurl.Hide(url), err)
	}
	q, ok := st.(store.Queue)
	if !ok {
		return b, nil, errors.Join(failed("a store that has queues: docs/guide/flows.md", "queue %s: it has none", storeurl.Hide(url)), st.Close())
	}
	return store.Broker{Queue: q, Place: placeOf(url)}, st, nil
}

// findQueue opens the queue of the cluster for a command. Where it is queueElsewhere, each of its calls says so.
func (o *observer) findQueue(ctx context.Context, a stores.Access) error {
	flag := o.cmd.Flags().Lookup("queue")
	if flag == nil {
		return nil
	}
	b, c, err := o.openQueue(ctx, flag.Value.String(), a)
	if err != nil {
		return err
	}
	o.broker = c
	if b.Queue == nil {
		b.Place = protocol.OwnQueue
		b.Queue, _ = o.store.(store.Queue)
	}
	at, err := protocol.At(ctx, o.store)
	if err != nil {
		return fmt.Errorf("store %s: %w", o.name, err)
	}
	if at.Queue != "" && at.Queue != b.Place {
		b.Queue = queueElsewhere{&protocol.OtherQueueError{Has: at.Queue, Asked: b.Place}}
	}
	o.viewer.Queue = b.Queue
	return nil
}

// queueElsewhere stands for a queue that this command was not given.
type queueElsewhere struct{ err *protocol.OtherQueueError }

func (q queueElsewhere) MakeFlow(context.Context, string, []store.Shard) error { return q.err }

func (q queueElsewhere) DropFlow(context.Context, string) error { return q.err }

func (q queueElsewhere) Receive(context.Context, string, store.Receive) ([]store.Message, error) {
	return nil, q.err
}

func (q queueElsewhere) Commit(context.Context, string, ...store.Unit) ([]bool, error) {
	return nil, q.err
}

func (q queueElsewhere) Depth(context.Context, string, ...store.Shard) ([]store.Depth, error) {
	return nil, q.err
}
