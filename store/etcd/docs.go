package etcd

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// listPage is how many documents one request of List asks for.
const listPage = 256

// revision is the mod revision of a version: 0 for a missing document, and one that no document has for an invalid version.
func revision(v store.Version) int64 {
	if v == "" {
		return 0
	}
	r, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || r <= 0 || version(r) != v {
		return -1
	}
	return r
}

func version(revision int64) store.Version { return store.Version(strconv.FormatInt(revision, 10)) }

// at compares the version of a key.
func at(key string, revision int64) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(key), "=", revision)
}

// Get implements store.Docs. It is linearizable.
func (s *Store) Get(ctx context.Context, key string) (_ store.Doc, err error) {
	defer s.place.Wrap(&err, "get %q", key)
	if err := store.CheckKey(key); err != nil {
		return store.Doc{}, err
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return store.Doc{}, err
	}
	defer leave()
	r, err := s.read(ctx, s.keys.doc(key))
	if err != nil {
		return store.Doc{}, err
	}
	if len(r.Kvs) == 0 {
		return store.Doc{}, store.ErrNotFound
	}
	return s.document(r.Kvs[0]), nil
}

// opsOfTxn is how many operations one transaction may have where the server is configured as it comes.
const opsOfTxn = 128

// Gets implements store.GetMany. It is linearizable, and up to 128 documents are from the same moment.
func (s *Store) Gets(ctx context.Context, keys []string) (_ []store.Doc, err error) {
	defer s.place.Wrap(&err, "get %d documents", len(keys))
	if err := store.CheckKeys(keys); err != nil {
		return nil, err
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	docs := make([]store.Doc, 0, len(keys))
	for some := range slices.Chunk(keys, opsOfTxn) {
		ops := make([]clientv3.Op, len(some))
		for i, key := range some {
			ops[i] = clientv3.OpGet(s.keys.doc(key))
		}
		r, err := ask(ctx, s, func(ctx context.Context) (*clientv3.TxnResponse, error) {
			return s.client.Txn(ctx).Then(ops...).Commit()
		})
		if err != nil {
			return nil, err
		}
		for i, key := range some {
			d := store.Doc{Key: key}
			if kvs := r.Responses[i].GetResponseRange().Kvs; len(kvs) > 0 {
				d = s.document(kvs[0])
			}
			docs = append(docs, d)
		}
	}
	return docs, nil
}

// read gets keys.
func (s *Store) read(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	return ask(ctx, s, func(ctx context.Context) (*clientv3.GetResponse, error) { return s.client.Get(ctx, key, opts...) })
}

func (s *Store) document(kv *mvccpb.KeyValue) store.Doc {
	return store.Doc{Key: strings.TrimPrefix(string(kv.Key), s.keys.docs()), Value: kv.Value, Version: version(kv.ModRevision)}
}

// Put implements store.Docs. The written document is tied to no session, even if the previous one was.
func (s *Store) Put(ctx context.Context, d store.Doc) (_ store.Version, err error) {
	defer s.place.Wrap(&err, "put %q", d.Key)
	if err := checkDoc(d); err != nil {
		return "", err
	}
	ctx, leave, err := s.enterChange(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	return s.write(ctx, d, clientv3.NoLease)
}

func checkDoc(d store.Doc) error {
	if err := store.CheckKey(d.Key); err != nil {
		return err
	}
	return driver.CheckSize(d.Value, MaxRecord)
}

// write puts a document if its version is current.
func (s *Store) write(ctx context.Context, d store.Doc, lease clientv3.LeaseID) (store.Version, error) {
	key := s.keys.doc(d.Key)
	r, err := change(ctx, s, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return s.client.Txn(ctx).If(at(key, revision(d.Version))).
			Then(clientv3.OpPut(key, string(d.Value), clientv3.WithLease(lease))).Commit()
	})
	switch {
	case err != nil:
		return "", s.full(ctx, err, key, revision(d.Version))
	case !r.Succeeded:
		return "", store.ErrConflict
	}
	return version(r.Header.Revision), nil
}

// Delete implements store.Docs.
func (s *Store) Delete(ctx context.Context, key string, v store.Version) error {
	return s.place.Failed(s.delete(ctx, key, v), "delete %q", key)
}

func (s *Store) delete(ctx context.Context, name string, v store.Version) error {
	if err := store.CheckKey(name); err != nil {
		return err
	}
	ctx, leave, err := s.enterChange(ctx)
	if err != nil {
		return err
	}
	defer leave()
	key, current := s.keys.doc(name), revision(v)
	if current == 0 {
		current = -1 // what does not exist cannot be deleted
	}
	r, err := change(ctx, s, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return s.client.Txn(ctx).If(at(key, current)).Then(clientv3.OpDelete(key)).
			Else(clientv3.OpGet(key, clientv3.WithCountOnly())).Commit()
	})
	switch {
	case err != nil:
		return err
	case r.Succeeded:
		return nil
	case rangeOf(r, 0).Count == 0:
		return store.ErrNotFound
	}
	return store.ErrConflict
}

// List implements store.Docs. Up to 256 documents are from one instant; of more, each 256 are.
func (s *Store) List(ctx context.Context, prefix string) (_ []store.Doc, err error) {
	defer s.place.Wrap(&err, "list %q", prefix)
	if err := store.CheckPrefix(prefix); err != nil {
		return nil, err
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	from := s.keys.docs() + prefix
	return s.listRange(ctx, from, clientv3.GetPrefixRangeEnd(from))
}

func (s *Store) listRange(ctx context.Context, from, end string) ([]store.Doc, error) {
	var docs []store.Doc
	for {
		r, err := s.read(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(listPage))
		if err != nil {
			return nil, err
		}
		for _, kv := range r.Kvs {
			docs = append(docs, s.document(kv))
		}
		if !r.More || len(r.Kvs) == 0 {
			return docs, nil
		}
		from = string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
	}
}
