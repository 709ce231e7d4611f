package etcd

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-run/rota/store"
)

// A broken watch is restarted after a pause of watchPause, doubled each time up to watchPauseMost.
const (
	watchPause     = 100 * time.Millisecond
	watchPauseMost = 3 * time.Second
)

// Watch implements store.Watcher.
func (s *Store) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	if err := store.CheckPrefix(prefix); err != nil {
		return nil, s.place.Failed(err, "watch %q", prefix)
	}
	hints, err := s.watch(ctx, s.keys.docs()+prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, s.place.Failed(err, "watch %q", prefix)
	}
	return hints, nil
}

// WatchLog implements store.LogWatcher. It watches only the head, so that records are not sent to watchers.
func (s *Store) WatchLog(ctx context.Context) (<-chan struct{}, error) {
	hints, err := s.watch(ctx, s.keys.head())
	if err != nil {
		return nil, s.place.Failed(err, "watch log")
	}
	return hints, nil
}

func (s *Store) watch(ctx context.Context, key string, opts ...clientv3.OpOption) (<-chan struct{}, error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	revision, err := s.now(ctx)
	if err != nil {
		leave()
		return nil, err
	}
	hints := make(chan struct{}, 1)
	hints <- struct{}{}
	go func() {
		defer leave()
		defer close(hints)
		s.follow(ctx, hints, revision, key, opts)
	}()
	return hints, nil
}

// now is the revision that the whole server has reached.
func (s *Store) now(ctx context.Context) (int64, error) {
	r, err := s.read(ctx, s.keys.format(), clientv3.WithCountOnly())
	if err != nil {
		return 0, err
	}
	return r.Header.Revision, nil
}

// follow hints at all changes behind revision until ctx ends. What changed while the stream was broken, or was compacted, is a hint as well.
func (s *Store) follow(ctx context.Context, hints chan<- struct{}, revision int64, key string, opts []clientv3.OpOption) {
	for wait := watchPause; ; wait = min(2*wait, watchPauseMost) {
		if s.stream(ctx, hints, revision, key, opts) {
			wait = watchPause
		}
		for {
			if !pause(ctx, wait) {
				return
			}
			now, err := s.now(ctx)
			if err == nil {
				revision = now
				break
			}
			wait = min(2*wait, watchPauseMost)
		}
		hint(hints)
	}
}

// stream hints at changes until the server or ctx ends the stream; it reports whether there were any answers.
func (s *Store) stream(ctx context.Context, hints chan<- struct{}, revision int64, key string, opts []clientv3.OpOption) (answered bool) {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	opts = append([]clientv3.OpOption{clientv3.WithRev(revision + 1), clientv3.WithProgressNotify()}, opts...)
	for r := range s.client.Watch(ctx, key, opts...) {
		if err := r.Err(); err != nil {
			s.log.Debug("a watch has ended; it begins again", "key", key, "err", err)
			return answered
		}
		answered = true
		if len(r.Events) > 0 {
			hint(hints)
		}
	}
	return answered
}

func hint(hints chan<- struct{}) {
	select {
	case hints <- struct{}{}:
	default:
	}
}
