package zookeeper_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/zookeeper"
)

func appendN(t testing.TB, s *zookeeper.Store, n int) (last uint64) {
	t.Helper()
	ctx := rig.Deadline(t)
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() { _, errs[i] = s.Append(ctx, fmt.Appendf(nil, "record %d", i)) })
	}
	wg.Wait()
	must.Succeed(t, errors.Join(errs...))
	page, err := s.Read(ctx, 0, 1)
	if err != nil && !errors.Is(err, store.ErrTruncated) {
		t.Fatal(err)
	}
	return page.Head
}

// TestTrimOfWhatIsGone trims more records than one request deletes, of which a crash has left some.
func TestTrimOfWhatIsGone(t *testing.T) {
	t.Parallel()
	o, ctx := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}, rig.Deadline(t)
	s, below := openWith(t, o), nodesOf(t, o)
	const n, last = 1300, 1201
	if head := appendN(t, s, n); head != n {
		t.Fatalf("head %d after %d appends", head, n)
	}
	must.Succeed(t, s.SaveSnapshot(ctx, store.Record{Index: last}))
	for _, index := range []uint64{3, 4, 700, last} {
		below.remove(t, below.record(index))
	}
	must.Succeed(t, s.Trim(ctx, n))
	if left := len(below.names(t, pagesNode)); left != n-last {
		t.Errorf("%d records are left, want %d", left, n-last)
	}
}

// TestMissingRecordIsDamage deletes a record that was not trimmed.
func TestMissingRecordIsDamage(t *testing.T) {
	t.Parallel()
	o, ctx := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}, rig.Deadline(t)
	s, below := openWith(t, o), nodesOf(t, o)
	appendN(t, s, 5)
	below.remove(t, below.record(3))
	if _, err := s.Read(ctx, 0, 10); !errors.Is(err, zookeeper.ErrDamaged) {
		t.Errorf("read over a record that somebody deleted: %v, want ErrDamaged", err)
	}
}

// TestTooLarge writes as much as is allowed, and a byte more.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	s, ctx := openWith(t, zookeeper.Options{Servers: servers(t), Path: freshPath(t)}), rig.Deadline(t)
	most, more := bytes.Repeat([]byte("x"), zookeeper.MaxRecord), make([]byte, zookeeper.MaxRecord+1)
	if _, err := s.Append(ctx, more); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("append of %d bytes: %v", len(more), err)
	}
	if _, err := s.Put(ctx, store.Doc{Key: "a", Value: more}); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("put of %d bytes: %v", len(more), err)
	}
	if err := s.SaveSnapshot(ctx, store.Record{Index: 1, Data: make([]byte, zookeeper.MaxSnapshot+1)}); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("snapshot of %d bytes: %v", zookeeper.MaxSnapshot+1, err)
	}
	var wg sync.WaitGroup
	for range 3 { // together they would make too large a request
		wg.Go(func() {
			if _, err := s.Append(ctx, most); err != nil {
				t.Errorf("append of %d bytes: %v", len(most), err)
			}
		})
	}
	wg.Wait()
	if _, err := s.Put(ctx, store.Doc{Key: "a", Value: most}); err != nil {
		t.Errorf("put of %d bytes: %v", len(most), err)
	}
	var got []store.Record
	for after := uint64(0); after < 3; {
		page, err := s.Read(ctx, after, 10)
		if err != nil || len(page.Records) == 0 {
			t.Fatalf("read after %d: %d records, %v", after, len(page.Records), err)
		}
		got = append(got, page.Records...)
		after = got[len(got)-1].Index
	}
	for _, r := range got {
		if !bytes.Equal(r.Data, most) {
			t.Errorf("record %d has %d bytes, want %d", r.Index, len(r.Data), len(most))
		}
	}
}

// head returns the newest index.
func head(t *testing.T, s *zookeeper.Store) uint64 {
	t.Helper()
	page, err := s.Read(rig.Deadline(t), 0, 1)
	must.Succeed(t, err)
	return page.Head
}

// TestLostAnswerOfAnAppendIsFound breaks the connection under an append that was done, and under one that was not, with and without other appends after it.
func TestLostAnswerOfAnAppendIsFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		done   bool
		others int
	}{{"done", true, 0}, {"done, and the log went on", true, 3}, {"not done", false, 0}, {"not done, and the log went on", false, 3}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := zookeeper.Options{Servers: servers(t), Path: freshPath(t), Session: 2 * time.Second}
			direct := openWith(t, o)
			through, link, tap := openTapped(t, o)
			ctx := rig.Deadline(t)
			if _, err := through.Append(ctx, []byte("first")); err != nil {
				t.Fatal(err)
			}
			if c.done {
				link.StallReplies()
			} else {
				link.StallRequests()
			}
			type answer struct {
				index uint64
				err   error
			}
			answers, before := make(chan answer, 1), tap.counts()
			go func() {
				index, err := through.Append(ctx, []byte("lost"))
				answers <- answer{index, err}
			}()
			if c.done {
				rig.Eventually(t, "the append has arrived", func() bool { return head(t, direct) == 2 })
			} else {
				rig.Eventually(t, "the append was sent", func() bool { return tap.since(before)[opMulti] > 0 })
			}
			for i := range c.others {
				if _, err := direct.Append(ctx, fmt.Appendf(nil, "other %d", i)); err != nil {
					t.Fatal(err)
				}
			}
			link.Cut()
			must.Succeed(t, link.Heal())
			a := <-answers
			if a.err != nil {
				t.Fatalf("append whose connection broke: %v, want that it is found or done", a.err)
			}
			page, err := direct.Read(ctx, 0, 10)
			must.Succeed(t, err)
			var at []uint64
			for _, r := range page.Records {
				if string(r.Data) == "lost" {
					at = append(at, r.Index)
				}
			}
			if len(at) != 1 || at[0] != a.index {
				t.Errorf("the record is at %v, acknowledged at %d", at, a.index)
			}
		})
	}
}

var errEnough = errors.New("enough")

// TestUnknownOnlyIfSent cancels calls before and after their request was sent.
func TestUnknownOnlyIfSent(t *testing.T) {
	t.Parallel()
	o := zookeeper.Options{Servers: servers(t), Path: freshPath(t), Session: time.Minute} // no silence of a busy machine is long enough to break a connection
	through, link, tap := openTapped(t, o)
	if _, err := through.Put(rig.Deadline(t), store.Doc{Key: "a/first"}); err != nil { // makes the folder
		t.Fatal(err)
	}
	if _, err := through.Append(rig.Deadline(t), []byte("first")); err != nil { // reads the header
		t.Fatal(err)
	}
	calls := map[string]func(context.Context, int) error{
		"append": func(ctx context.Context, _ int) error { _, err := through.Append(ctx, nil); return err },
		"put": func(ctx context.Context, n int) error {
			_, err := through.Put(ctx, store.Doc{Key: fmt.Sprint("a/", n)})
			return err
		},
	}
	for name, call := range calls {
		link.Stall()
		before, refusals := tap.counts(), tap.refusals()
		ctx, giveUp := context.WithCancelCause(rig.Deadline(t))
		given := make(chan error, 1)
		go func() { given <- call(ctx, 1) }()
		rig.Eventually(t, "the request was sent", func() bool { return tap.since(before)[opMulti] > 0 })
		giveUp(errEnough)
		if err := <-given; !errors.Is(err, store.ErrUnknown) || !errors.Is(err, errEnough) {
			t.Errorf("%s without an answer: %v, want ErrUnknown and the reason", name, err)
		}
		link.Refuse()
		link.Cut()
		rig.Eventually(t, "the handle tries to connect again", func() bool { return tap.refusals() > refusals })
		if name == "put" {
			rig.Eventually(t, "the call waits for a connection", func() bool { // unless its time is over before that, on a busy machine
				err := call(brief(t, 50*time.Millisecond), 2)
				if errors.Is(err, store.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("%s without a connection: %v, want ErrUnavailable and the reason, and nothing unknown", name, err)
				}
				return errors.Is(err, store.ErrUnavailable)
			})
		}
		must.Succeed(t, link.Heal())
		if _, err := through.Read(rig.Deadline(t), 0, 1); err != nil {
			t.Fatal(err)
		}
	}
}

// TestVersionOfAFormerLife changes a document by a version of its former life. The counter in it is the present one, so ZooKeeper alone would do it.
func TestVersionOfAFormerLife(t *testing.T) {
	t.Parallel()
	o, ctx := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}, rig.Deadline(t)
	s := openWith(t, o)
	former, err := s.Put(ctx, store.Doc{Key: "a"})
	must.Succeed(t, err)
	must.Succeed(t, s.Delete(ctx, "a", former))
	if _, err := s.Put(ctx, store.Doc{Key: "a", Value: []byte("present")}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(ctx, store.Doc{Key: "a", Version: former}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("put at %q: %v", former, err)
	}
	if err := s.Delete(ctx, "a", former); !errors.Is(err, store.ErrConflict) {
		t.Errorf("delete at %q: %v", former, err)
	}
	if lives := nodesOf(t, o).names(t, livesNode); len(lives) != 1 {
		t.Errorf("one document has %d lives", len(lives))
	}
}

// TestFoldersGoWithTheirDocuments creates a document again after the servers have removed its empty folder.
func TestFoldersGoWithTheirDocuments(t *testing.T) {
	t.Parallel()
	o, ctx := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}, rig.Deadline(t)
	s, below := openWith(t, o), nodesOf(t, o)
	v, err := s.Put(ctx, store.Doc{Key: "a/b/c"})
	must.Succeed(t, err)
	must.Succeed(t, s.Delete(ctx, "a/b/c", v))
	below.remove(t, below.below(rowsNode+"/+d+a+b")) // as the servers do some time later
	if _, err := s.Put(ctx, store.Doc{Key: "a/b/c"}); err != nil {
		t.Errorf("put where the folder has gone: %v", err)
	}
}
