package zookeeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// MaxRecord is the maximum size of a document or of a record: a server accepts requests of up to 1 MB (jute.maxbuffer), including names and ACLs.
const MaxRecord = 900 << 10

func checkDoc(d store.Doc) error {
	if err := store.CheckKey(d.Key); err != nil {
		return err
	}
	return driver.CheckSize(d.Value, MaxRecord)
}

// Get implements store.Docs.
func (s *Store) Get(ctx context.Context, key string) (store.Doc, error) {
	d, err := s.get(ctx, key)
	if err != nil {
		return store.Doc{}, fmt.Errorf("get %q: %w", key, err)
	}
	return d, nil
}

func (s *Store) get(ctx context.Context, key string) (d store.Doc, err error) {
	if err := store.CheckKey(key); err != nil {
		return store.Doc{}, err
	}
	if err := s.enter(ctx); err != nil {
		return store.Doc{}, err
	}
	err = s.fresh(ctx, func() error {
		d, err = s.fetch(ctx, key, s.node)
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return store.Doc{}, store.ErrNotFound
	}
	return d, s.lost(err)
}

// node reads the data of a node within fresh: as known to the connected server at the time of its last answer or later. A single
// server, which has not been asked anything yet, is asked now.
func (s *Store) node(ctx context.Context, path string) (node, error) {
	if s.link.alone() {
		return s.hub.read(ctx, spot{path: path})
	}
	return s.seen(ctx, path)
}

// seen reads the data of a node as it is known at the time of the server's last answer, or later.
func (s *Store) seen(ctx context.Context, path string) (node, error) {
	return s.look(ctx, spot{path: path})
}

func (s *Store) look(ctx context.Context, at spot) (node, error) {
	if n, ok := s.hub.known(at); ok {
		return n, nil
	}
	return s.hub.read(ctx, at)
}

// fetch reads a document in one of the ways to read a node.
func (s *Store) fetch(ctx context.Context, key string, read func(ctx context.Context, path string) (node, error)) (store.Doc, error) {
	path := s.docPath(key)
	n, err := read(ctx, path)
	if err != nil {
		return store.Doc{}, err
	}
	life, value := decodeDoc(n.data)
	return store.Doc{Key: key, Value: value, Version: version(life, n.stat.Version)}, nil
}

// Put implements store.Docs. It does not change the session of the document.
func (s *Store) Put(ctx context.Context, d store.Doc) (_ store.Version, err error) {
	defer driver.Wrap(&err, "put %q", d.Key)
	if err := checkDoc(d); err != nil {
		return "", err
	}
	if err := s.enterWriting(ctx); err != nil {
		return "", err
	}
	v, err := s.write(ctx, s.link, d, zk.FlagPersistent)
	return v, s.failed(err)
}

// write creates or changes a document through a link.
func (s *Store) write(ctx context.Context, l *link, d store.Doc, flags int32) (store.Version, error) {
	if d.Version == "" {
		return s.create(ctx, l, d, flags)
	}
	life, n, ok := parseVersion(d.Version)
	if !ok {
		return "", store.ErrConflict
	}
	var alive any = &zk.CheckVersionRequest{Path: s.lifePath(life), Version: 0}
	if life == "" { // somebody else wrote it: from here on it is a document
		life = newLife()
		alive = &zk.CreateRequest{Path: s.lifePath(life), Acl: s.acl, Flags: zk.FlagPersistent}
	}
	results, err := multi(ctx, l, alive, &zk.SetDataRequest{Path: s.docPath(d.Key), Data: encodeDoc(life, d.Value), Version: n})
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion) {
		return "", store.ErrConflict
	}
	if err != nil {
		return "", err
	}
	return version(life, results[1].Stat.Version), nil
}

// folderAttempts bounds how often the folder of a document is created again because the servers removed it while it was empty.
const folderAttempts = 20

// create makes the document and its life in one step. The life's name is random; should it be taken, another one is.
func (s *Store) create(ctx context.Context, l *link, d store.Doc, flags int32) (store.Version, error) {
	for range folderAttempts {
		life := newLife()
		results, err := multi(ctx, l,
			&zk.CreateRequest{Path: s.docPath(d.Key), Data: encodeDoc(life, d.Value), Acl: s.acl, Flags: flags},
			&zk.CreateRequest{Path: s.lifePath(life), Acl: s.acl, Flags: flags})
		switch {
		case err == nil:
			return version(life, 0), nil
		case errors.Is(err, zk.ErrNodeExists) && len(results) > 0 && errors.Is(results[0].Error, zk.ErrNodeExists):
			return "", store.ErrConflict
		case errors.Is(err, zk.ErrNodeExists):
		case errors.Is(err, zk.ErrNoNode):
			if err := s.makeFolder(ctx, l, d.Key); err != nil {
				return "", err
			}
		default:
			return "", err
		}
	}
	return "", fmt.Errorf("the folder of the document keeps vanishing: %w", store.ErrUnavailable)
}

// makeFolder makes the folder of a document. The servers remove it some time after its last document has gone.
func (s *Store) makeFolder(ctx context.Context, l *link, key string) error {
	folder, _ := split(key)
	_, err := do(ctx, l, func(c *zk.Conn) (string, error) {
		return c.Create(s.at(docsNode, folder), nil, zk.FlagContainer, s.acl) // the wire makes it a container
	})
	var sent *sentError
	switch {
	case errors.Is(err, zk.ErrNodeExists):
		return nil
	case errors.As(err, &sent) && ctx.Err() == nil:
		return &refusedError{sent.err} // of the document nothing was sent
	case errors.As(err, &sent):
		return context.Cause(ctx)
	}
	return err
}

// Delete implements store.Docs.
func (s *Store) Delete(ctx context.Context, key string, v store.Version) (err error) {
	defer driver.Wrap(&err, "delete %q", key)
	if err := store.CheckKey(key); err != nil {
		return err
	}
	if err := s.enterWriting(ctx); err != nil {
		return err
	}
	life, n, ok := parseVersion(v)
	if ok {
		ops := []any{&zk.DeleteRequest{Path: s.docPath(key), Version: n}}
		if life != "" {
			ops = append(ops, &zk.DeleteRequest{Path: s.lifePath(life), Version: 0})
		}
		_, err := multi(ctx, s.link, ops...)
		if !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrBadVersion) {
			return s.failed(err)
		}
	}
	// Nothing was changed, since v is not current: is anything?
	if _, err := s.get(ctx, key); err != nil {
		return err
	}
	return store.ErrConflict
}

// multi makes several changes at once, or none of them.
func multi(ctx context.Context, l *link, ops ...any) ([]zk.MultiResponse, error) {
	results, err := do(ctx, l, func(c *zk.Conn) ([]zk.MultiResponse, error) { return c.Multi(ops...) })
	if err == nil && len(results) != len(ops) {
		return results, &sentError{fmt.Errorf("%d answers to %d changes", len(results), len(ops))}
	}
	return results, err
}
