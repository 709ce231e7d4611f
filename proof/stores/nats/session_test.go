package nats_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	nc "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/nats"
)

func mustPut(t *testing.T, s interface {
	Put(context.Context, store.Doc) (store.Version, error)
}, key, value string, v store.Version) store.Version {
	t.Helper()
	return must.Get(s.Put(rig.Deadline(t), store.Doc{Key: key, Value: []byte(value), Version: v}))(t)
}

func wantValue(t *testing.T, s *nats.Store, key, value string, v store.Version) {
	t.Helper()
	d, err := s.Get(rig.Deadline(t), key)
	if err != nil || string(d.Value) != value || d.Version != v {
		t.Fatalf("get %q = %q at %q, %v; want %q at %q", key, d.Value, d.Version, err, value, v)
	}
}

// gone asks whether there is no such document; false also where nobody answers.
func gone(s *nats.Store, key string) func() bool {
	return func() bool {
		_, err := s.Get(context.Background(), key)
		return errors.Is(err, store.ErrNotFound)
	}
}

// there asks until somebody answers.
func there(t *testing.T, s *nats.Store, key string) (is bool) {
	t.Helper()
	rig.Eventually(t, "somebody says whether "+key+" is there", func() bool {
		_, err := s.Get(context.Background(), key)
		is = err == nil
		return is || errors.Is(err, store.ErrNotFound)
	})
	return is
}

// TestSilentUser writes nothing for longer than the ttl: the session lives on, and versions stay what they were.
func TestSilentUser(t *testing.T) {
	t.Parallel()
	name := bucket()
	a, b := openWith(t, nats.Options{Bucket: name}), openWith(t, nats.Options{Bucket: name})
	door := backdoorTo(t, name)
	owner := rig.Session(t, a, 10*time.Second) // renewed after half of that; a busy machine does not stop for the other half
	v1 := mustPut(t, owner, "s/1", "x", "")
	v2 := mustPut(t, owner, "s/2", "y", "")
	first := door.newest(t, door.doc("s/1")).Sequence
	rig.Eventually(t, "the document was repeated several times", func() bool {
		wantValue(t, b, "s/1", "x", v1)
		return door.newest(t, door.doc("s/1")).Sequence >= first+6
	})
	wantValue(t, b, "s/1", "x", v1)
	wantValue(t, b, "s/2", "y", v2)
	v3 := mustPut(t, owner, "s/1", "z", v1)
	wantValue(t, b, "s/1", "z", v3)
	if _, err := owner.Put(rig.Deadline(t), store.Doc{Key: "s/1", Version: v1}); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("put at an old version: %v, want ErrConflict", err)
	}
	if _, err := b.Put(rig.Deadline(t), store.Doc{Key: "s/1", Version: v1}); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("put of somebody else at an old version: %v, want ErrConflict", err)
	}
	must.Succeed(t, b.Delete(rig.Deadline(t), "s/2", v2))
	if door.newest(t, door.doc("s/2")).Header.Get("Nats-TTL") == "" {
		t.Error("what is left of a deleted document stays for ever")
	}
	mustPut(t, owner, "s/3", "", "") // writes what the session has again: s/1 alone
	wantValue(t, b, "s/1", "z", v3)
	if there(t, b, "s/2") {
		t.Fatal("the session wrote a document again that was deleted")
	}
}

// TestTakenOverDocumentIsLeftAlone has another write over a session's document: the session neither repeats nor removes
// that.
func TestTakenOverDocumentIsLeftAlone(t *testing.T) {
	t.Parallel()
	open := place.Empty(t)
	a, b := open(t), open(t)
	owner := rig.Session(t, a, time.Minute)
	v1 := mustPut(t, owner, "s/1", "x", "")
	v2 := mustPut(t, b, "s/1", "theirs", v1)
	mustPut(t, owner, "s/2", "y", "") // repeats s/1 first
	wantValue(t, b, "s/1", "theirs", v2)
	must.Succeed(t, owner.Close(rig.Deadline(t)))
	wantValue(t, b, "s/1", "theirs", v2)
	if there(t, b, "s/2") {
		t.Fatal("the session's own document stayed")
	}
}

// TestPutRenewsAll writes one document of a session so often that another one, written once, would have vanished. Each
// Put itself has written that one again when it returns, with a new time to live: no Put relies on the goroutine that
// renews for a silent user.
func TestPutRenewsAll(t *testing.T) {
	t.Parallel()
	b := bucket()
	a, door := openWith(t, nats.Options{Bucket: b}), backdoorTo(t, b)
	const ttl = 8 * time.Second // much longer than a busy machine stops
	owner := rig.Session(t, a, ttl)
	still := mustPut(t, owner, "s/still", "x", "")
	start, before := time.Now(), door.newest(t, door.doc("s/still")).Sequence
	for v := store.Version(""); time.Since(start) < ttl+2*time.Second; { // the server removes a document within a second of its end
		v = mustPut(t, owner, "s/busy", "y", v)
		for _, key := range []string{"s/still", "s/busy"} {
			m := door.newest(t, door.doc(key))
			if m.Sequence <= before || m.Header.Get("Nats-TTL") != "8s" {
				t.Fatalf("%s is message %d, with a time to live of %q, after a Put that began after message %d; want a newer one that lives for 8s",
					key, m.Sequence, m.Header.Get("Nats-TTL"), before)
			}
		}
		before = door.stream(t, door.docs()).CachedInfo().State.LastSeq
		select {
		case <-owner.Done():
			t.Fatal("the session has ended, though it was renewed")
		case <-time.After(100 * time.Millisecond): // the rhythm of the user, not a wait for something
		}
	}
	wantValue(t, a, "s/still", "x", still)
}

// TestExpiredAtTheServerAlone lets a document vanish while the session still holds a lease, as after the suspension of
// a machine.
func TestExpiredAtTheServerAlone(t *testing.T) {
	t.Parallel()
	b := bucket()
	s, door := openWith(t, nats.Options{Bucket: b}), backdoorTo(t, b)
	owner := rig.Session(t, s, time.Hour)
	v := mustPut(t, owner, "s/1", "x", "")
	shortened := door.newest(t, door.doc("s/1"))
	shortened.Header.Set("Nats-TTL", "1s")
	shortened.Header.Del("Nats-Expected-Last-Subject-Sequence")
	must.Succeed(t, must.Err(door.js.PublishMsg(rig.Deadline(t),
		&nc.Msg{Subject: shortened.Subject, Header: shortened.Header, Data: shortened.Data})))
	rig.Eventually(t, "the server removes the document", gone(s, "s/1"))
	if _, err := owner.Put(rig.Deadline(t), store.Doc{Key: "s/1", Version: v}); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("put of the vanished document: %v, want ErrConflict", err)
	}
	if _, err := owner.Put(rig.Deadline(t), store.Doc{Key: "s/2"}); !errors.Is(err, store.ErrSession) {
		t.Fatalf("put of another document: %v, want ErrSession", err)
	}
	if there(t, s, "s/2") {
		t.Fatal("a session that had ended has a document")
	}
}

// TestSessionOutlivesTheServersDeath restarts the server faster than the ttl; a session that nobody renews vanishes all
// the same.
func TestSessionOutlivesTheServersDeath(t *testing.T) {
	t.Parallel()
	p := spawn(t, 1)
	o := nats.Options{URLs: p.URLs(), Bucket: "b"}
	live, watcher := openWith(t, o), openWith(t, o)
	door := backdoorTo(t, "b", p.URL())
	link := proxyTo(t, p.URL())
	o.URLs = []string{"nats://" + link.Addr()}
	silent := openWith(t, o)
	owner := rig.Session(t, live, 30*time.Second) // longer than a restart on a busy machine
	v := mustPut(t, owner, "s/live", "x", "")
	const ttl = 4 * time.Second
	start := time.Now()
	mustPut(t, rig.Session(t, silent, ttl), "s/silent", "x", "")
	link.Cut()
	p.Kill(0)
	must.Succeed(t, p.Restart(0))
	must.Succeed(t, p.Await(rig.Deadline(t)))
	usable(t, watcher)
	before := door.newest(t, door.doc("s/live")).Sequence
	rig.Eventually(t, "the silent session's document vanishes", gone(watcher, "s/silent"))
	if held := time.Since(start); held < ttl {
		t.Fatalf("it vanished after %v, before its ttl of %v", held, ttl)
	}
	rig.Eventually(t, "the live session renews its document", func() bool {
		return door.newest(t, door.doc("s/live")).Sequence > before
	})
	wantValue(t, watcher, "s/live", "x", v)
	select {
	case <-owner.Done():
		t.Fatal("the session has ended, though its document is there")
	default:
	}
}

// TestAChangeBesideALostConsumer takes the consumer of a watch away and changes something at the moment in which the
// watch notices: the client makes another consumer by itself, which delivers only what comes later.
func TestAChangeBesideALostConsumer(t *testing.T) {
	t.Parallel()
	b := bucket()
	changeBesideALostConsumer(t, openWith(t, nats.Options{Bucket: b}), backdoorTo(t, b))
}

func changeBesideALostConsumer(t *testing.T, s *nats.Store, door backdoor) {
	t.Helper()
	for i := range 5 {
		ctx := rig.Deadline(t)
		hints := must.Get(s.Watch(ctx, fmt.Sprintf("w%d/", i)))(t)
		rig.Hinted(t, hints)
		loseConsumers(ctx, t, door, door.doc(fmt.Sprintf("w%d/", i))+">")
		rig.Hinted(t, hints)
		mustPut(t, s, fmt.Sprintf("w%d/a", i), "x", "")
		rig.Hinted(t, hints)
	}
}

// loseConsumers takes the consumers of a subject away, at least one. Of those that are listed one may be gone already:
// a client, and a watch, leave old ones on the server for a moment.
func loseConsumers(ctx context.Context, t *testing.T, door backdoor, subject string) {
	t.Helper()
	stream := door.stream(t, door.docs())
	rig.Eventually(t, "a consumer is taken away", func() bool {
		lost := 0
		for info := range stream.ListConsumers(ctx).Info() {
			if !slices.Contains(append(info.Config.FilterSubjects, info.Config.FilterSubject), subject) {
				continue
			}
			if err := stream.DeleteConsumer(ctx, info.Name); err == nil {
				lost++
			} else if !errors.Is(err, jetstream.ErrConsumerNotFound) {
				t.Logf("delete consumer %s: %v", info.Name, err) // there may be no leader at the moment
			}
		}
		return lost > 0
	})
}

// TestConsumersGo closes many watches: the server must not keep what they used.
func TestConsumersGo(t *testing.T) {
	t.Parallel()
	b := bucket()
	s, door := openWith(t, nats.Options{Bucket: b}), backdoorTo(t, b)
	consumers := func() int { return door.stream(t, door.log()).CachedInfo().State.Consumers }
	ctx, cancel := context.WithCancel(rig.Deadline(t))
	for range 5 {
		must.Succeed(t, must.Err(s.WatchLog(ctx)))
	}
	rig.Eventually(t, "there are five consumers", func() bool { return consumers() == 5 })
	start := time.Now()
	cancel()
	rig.Eventually(t, "the consumers are gone", func() bool { return consumers() == 0 })
	t.Logf("gone after %v", time.Since(start).Round(time.Millisecond))
}

// TestRightsGoAndComeBack takes from a user who has a store open first the right to write, and then the password. Both
// errors say so, and the handle can be used again when the user has both back.
func TestRightsGoAndComeBack(t *testing.T) {
	t.Parallel()
	o := &server.Options{JetStream: true, SyncAlways: true, Users: []*server.User{user("u", firstMay)}}
	n, url := bareServer(t, o)
	s := openWith(t, nats.Options{URLs: []string{url}, User: "u", Password: "p", Timeout: rig.Patience})
	reload := func(u *server.User) {
		changed := *o
		changed.Users = []*server.User{u}
		must.Succeed(t, n.ReloadOptions(&changed))
	}
	try := func() error { return must.Err(s.Append(context.Background(), nil)) }

	reload(user("u", observerMay))
	rig.Eventually(t, "an append says that the user may not write", func() bool {
		err := try()
		return errors.Is(err, store.ErrUnknown) && strings.Contains(err.Error(), `Publish to "rota.rota.log"`)
	})
	other := user("u", firstMay)
	other.Password = "q"
	dials := func() uint64 { return must.Get(n.Varz(nil))(t).TotalConnections }
	before := dials()
	reload(other)
	rig.Eventually(t, "an append says that the password is wrong", func() bool {
		err := try()
		return errors.Is(err, store.ErrUnavailable) && strings.Contains(err.Error(), "authorization violation")
	})
	rig.Eventually(t, "the client tries three times", func() bool { return dials() >= before+3 })
	reload(user("u", firstMay))
	rig.Eventually(t, "the handle can be used again", func() bool { return try() == nil })
}
