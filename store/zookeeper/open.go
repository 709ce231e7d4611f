package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/store"
)

// The marker is the data of the store's own node.
const (
	markerName   = "rota"
	markerFormat = 1
)

// Open opens the store at a path of ZooKeeper servers, and creates it if it does not exist and the options allow that. An error says what is wrong and what to
// try; then nothing is left open. ctx bounds only Open.
func Open(ctx context.Context, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("open zookeeper store: %w", err)
	}
	s, err := open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("open zookeeper store at %s%s: %w", strings.Join(o.Servers, ","), o.Path, err)
	}
	return s, nil
}

func open(ctx context.Context, o Options) (*Store, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	s := &Store{o: o, log: o.Logger, acl: zk.WorldACL(zk.PermAll), sessions: make(map[*session]struct{})}
	if o.User != "" {
		s.acl = zk.DigestACL(zk.PermAll, o.User, o.Password)
	}
	s.appender, s.hub = newAppender(s), newHub(s)
	lo := s.linkOptions()
	lo.timeout, lo.onEvent, lo.leaves = o.Session, s.hub.event, s.hub.leaves
	var err error
	if s.link, err = newLink(lo); err != nil {
		return nil, err
	}
	s.barrier = &barrier{link: s.link, path: o.Path, quorum: o.QuorumReads}
	if err := s.prepare(ctx); err != nil {
		_ = s.Close() // never fails
		return nil, diagnose(err)
	}
	return s, nil
}

func (s *Store) linkOptions() linkOptions {
	return linkOptions{
		servers: s.o.Servers, tls: s.o.TLS, user: s.o.User, pass: s.o.Password, wait: s.o.Timeout, logger: s.log,
	}
}

// prepare connects, and finds or creates the store. It starts again if the connection breaks meanwhile.
func (s *Store) prepare(ctx context.Context) error {
	for {
		err := s.link.authenticate(ctx)
		if err == nil {
			err = s.identify(ctx)
		}
		var sent *sentError
		if !errors.As(err, &sent) || ctx.Err() != nil {
			return err
		}
	}
}

// identify reads the marker, and makes the store if there is none.
func (s *Store) identify(ctx context.Context) error {
	if _, err := do(ctx, s.link, func(c *zk.Conn) (string, error) { return c.Sync(s.o.Path) }); err != nil {
		return err
	}
	n, err := s.node(ctx, s.o.Path)
	missing := errors.Is(err, zk.ErrNoNode)
	switch {
	case missing || (err == nil && len(n.data) == 0):
		if s.o.MustExist {
			return fmt.Errorf("there is no store: %w: look at the path, or let a member make it", store.ErrNotFound)
		}
		return s.make(ctx, missing, n)
	case err != nil:
		return err
	}
	return checkMarker(n.data)
}

func checkMarker(data []byte) error {
	var name string
	var format int
	if _, err := fmt.Sscanf(string(data), "%s %d", &name, &format); err != nil || name != markerName {
		return fmt.Errorf("the node holds something else (%.20q): give a path of its own", data)
	}
	if format > markerFormat {
		return fmt.Errorf("the store has format %d, and this program knows formats up to %d: use a newer rota", format, markerFormat)
	}
	return nil
}

// make makes the store's nodes in one step. Who loses a race finds the store.
func (s *Store) make(ctx context.Context, missing bool, n node) error {
	marker := fmt.Appendf(nil, "%s %d\n", markerName, markerFormat)
	var ops []any
	if missing {
		if err := s.makeParents(ctx); err != nil {
			return err
		}
		ops = append(ops, &zk.CreateRequest{Path: s.o.Path, Data: marker, Acl: s.acl})
	} else {
		ops = append(ops, &zk.SetDataRequest{Path: s.o.Path, Data: marker, Version: n.stat.Version})
	}
	for name, data := range map[string][]byte{docsNode: nil, livesNode: nil, snapNode: nil, logNode: header{}.encode()} {
		ops = append(ops, &zk.CreateRequest{Path: s.at(name), Data: data, Acl: s.acl})
	}
	_, err := multi(ctx, s.link, ops...)
	if !missing && errors.Is(err, zk.ErrNodeExists) {
		return fmt.Errorf("the node has no data but children of the names that are needed: %w: give a path of its own", ErrDamaged)
	}
	if errors.Is(err, zk.ErrNodeExists) || errors.Is(err, zk.ErrBadVersion) {
		return s.identify(ctx)
	}
	return err
}

func (s *Store) makeParents(ctx context.Context) error {
	segments := strings.Split(s.o.Path, "/")
	for i := 2; i < len(segments); i++ {
		parent := strings.Join(segments[:i], "/")
		_, err := do(ctx, s.link, func(c *zk.Conn) (string, error) {
			return c.Create(parent, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		})
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return fmt.Errorf("make %s: %w", parent, err)
		}
	}
	return nil
}
