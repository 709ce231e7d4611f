package etcd_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// thin is a driver of etcd for the engine: the spike of decision 87. It has what decides, and neither options, nor
// credentials, nor care for silent connections.
type thin struct {
	c       *clientv3.Client
	prefix  string
	timeout time.Duration   // of one request
	ctx     context.Context //nolint:containedctx // ends with the handle
	end     context.CancelCauseFunc
}

// openThin connects when it is first used.
func openThin(endpoints []string, prefix string, timeout time.Duration) (*thin, error) {
	c, err := clientv3.New(clientv3.Config{
		Endpoints: endpoints, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithStatsHandler(thinPost{})},
	})
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancelCause(context.Background())
	return &thin{c, prefix + "/", timeout, ctx, end}, nil
}

// Limits implements driver.Driver: a server takes requests of 1.5 MiB, and transactions of 128 parts.
func (d *thin) Limits() driver.Limits {
	return driver.Limits{Value: 1 << 20, Swap: 1400 << 10, Each: 64, With: 127, Keys: 127, Deletes: true}
}

// Close implements driver.Driver.
func (d *thin) Close() error {
	if d.ctx.Err() != nil {
		return nil
	}
	d.end(store.ErrClosed)
	return d.c.Close()
}

// thinPost notes when the first frame of a call is given to a connection. Before that nobody can have executed it.
type thinPost struct{}

type thinSent struct{}

func (thinPost) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (thinPost) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (thinPost) HandleConn(context.Context, stats.ConnStats)                       {}
func (thinPost) HandleRPC(ctx context.Context, event stats.RPCStats) {
	if sent, ok := ctx.Value(thinSent{}).(*atomic.Bool); ok {
		if _, ok := event.(*stats.OutHeader); ok {
			sent.Store(true)
		}
	}
}

// call makes one transaction, and gives its error the meaning that package driver wants.
func (d *thin) call(ctx context.Context, changes bool, txn func(clientv3.Txn) clientv3.Txn) (
	*clientv3.TxnResponse, error,
) {
	if err := cmp.Or(context.Cause(d.ctx), context.Cause(ctx)); err != nil {
		return nil, err
	}
	var sent atomic.Bool
	one, cancel := context.WithTimeout(context.WithValue(ctx, thinSent{}, &sent), d.timeout)
	defer cancel()
	defer context.AfterFunc(d.ctx, cancel)()
	r, err := txn(d.c.Txn(clientv3.WithRequireLeader(one))).Commit()
	if err == nil {
		return r, nil
	}
	err = errors.Join(err, context.Cause(d.ctx), context.Cause(ctx))
	switch {
	case context.Cause(ctx) != nil && (!changes || !sent.Load()):
		return nil, err
	case thinIs(err, rpctypes.ErrRequestTooLarge):
		return nil, fmt.Errorf("%w: %w", store.ErrTooLarge, err)
	case !changes, !sent.Load(),
		thinIs(err, rpctypes.ErrNoLeader, rpctypes.ErrTooManyRequests, rpctypes.ErrPermissionDenied):
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return nil, fmt.Errorf("%w: %w", store.ErrUnknown, err)
}

func thinIs(err error, known ...error) bool {
	for _, k := range known {
		if errors.Is(rpctypes.Error(err), rpctypes.Error(k)) {
			return true
		}
	}
	return false
}

// Read implements driver.Documents. One transaction is one instant; more keys take several, one after the other.
func (d *thin) Read(ctx context.Context, q driver.Query) (rows driver.Rows, err error) {
	for first := true; first || len(rows.Keys) < len(q.Keys); first = false {
		keys := q.Keys[len(rows.Keys):]
		keys = keys[:min(len(keys), d.Limits().Keys)]
		var ops []clientv3.Op
		if first && q.From != "" {
			how := []clientv3.OpOption{clientv3.WithRange(d.prefix + q.To), clientv3.WithLimit(int64(q.Limit))}
			if q.Bare {
				how = append(how, clientv3.WithKeysOnly())
			}
			ops = append(ops, clientv3.OpGet(d.prefix+q.From, how...))
		}
		for _, key := range keys {
			ops = append(ops, clientv3.OpGet(d.prefix+key))
		}
		r, err := d.call(ctx, false, func(t clientv3.Txn) clientv3.Txn { return t.Then(ops...) })
		if err != nil {
			return rows, err
		}
		answers := r.Responses
		if first && q.From != "" {
			got := answers[0].GetResponseRange()
			answers, rows.More = answers[1:], got.More
			for _, kv := range got.Kvs {
				rows.Range = append(rows.Range, d.row(kv))
			}
		}
		for i, answer := range answers {
			row := driver.Row{Key: keys[i]}
			if kvs := answer.GetResponseRange().Kvs; len(kvs) > 0 {
				row = d.row(kvs[0])
			}
			rows.Keys = append(rows.Keys, row)
		}
	}
	return rows, nil
}

func thinVersion(revision int64) driver.Version {
	return driver.Version(strconv.FormatInt(revision, 10))
}

// row is what is in a key: the length of the name, the name, the value.
func (d *thin) row(kv *mvccpb.KeyValue) driver.Row {
	row := driver.Row{Key: strings.TrimPrefix(string(kv.Key), d.prefix), Version: thinVersion(kv.ModRevision)}
	if n, at := binary.Uvarint(kv.Value); at > 0 && n <= uint64(len(kv.Value)-at) {
		row.Name, row.Value = string(kv.Value[at:at+int(n)]), kv.Value[at+int(n):] //nolint:gosec // at most the length
	}
	return row
}

func (d *thin) put(o driver.Op) clientv3.Op {
	if o.Delete {
		return clientv3.OpDelete(d.prefix + o.Key)
	}
	value := append(binary.AppendUvarint(nil, uint64(len(o.Name))), o.Name...)
	return clientv3.OpPut(d.prefix+o.Key, string(append(value, o.Value...)))
}

// Swap implements driver.Documents: one transaction, which tells what stands there if it is refused.
func (d *thin) Swap(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
	var ops []clientv3.Op
	size := 0
	for _, o := range append([]driver.Op{op}, with...) {
		most := d.Limits()
		size += len(o.Key) + len(o.Value) + most.Each
		if len(o.Value) > most.Value || size > most.Swap || len(with) > most.With {
			return "", fmt.Errorf("%q: %w", o.Key, store.ErrTooLarge)
		}
		ops = append(ops, d.put(o))
	}
	revision, err := strconv.ParseInt(string(cmp.Or(op.If, "0")), 10, 64)
	if err != nil {
		revision = -1 // no key has it
	}
	key := d.prefix + op.Key
	same := clientv3.Compare(clientv3.ModRevision(key), "=", revision)
	r, err := d.call(ctx, true, func(t clientv3.Txn) clientv3.Txn {
		return t.If(same).Then(ops...).Else(clientv3.OpGet(key))
	})
	switch {
	case err != nil:
		return "", err
	case r.Succeeded && op.Delete:
		return "", nil
	case r.Succeeded:
		return thinVersion(r.Header.Revision), nil
	}
	row := driver.Row{Key: op.Key}
	if kvs := r.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
		row = d.row(kvs[0])
	}
	return "", &driver.Conflict{Row: &row}
}

// Free implements driver.Documents: one request for all.
func (d *thin) Free(ctx context.Context, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	all := clientv3.OpDelete(d.prefix+keys[0], clientv3.WithRange(d.prefix+keys[len(keys)-1]+"\x00"))
	_, err := d.call(ctx, true, func(t clientv3.Txn) clientv3.Txn { return t.Then(all) })
	return err
}

// Watch implements driver.Documents.
func (d *thin) Watch(ctx context.Context, prefix string, hint func()) error {
	if err := cmp.Or(context.Cause(d.ctx), context.Cause(ctx)); err != nil {
		return err
	}
	until, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	defer context.AfterFunc(d.ctx, cancel)()
	for r := range d.c.Watch(until, d.prefix+prefix, clientv3.WithPrefix(), clientv3.WithCreatedNotify()) {
		if err := r.Err(); err != nil {
			return errors.Join(err, context.Cause(d.ctx), context.Cause(ctx))
		}
		hint()
	}
	return cmp.Or(context.Cause(d.ctx), context.Cause(ctx), store.ErrUnavailable)
}
