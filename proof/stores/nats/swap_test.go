package nats_test

import (
	"context"
	"errors"
	. "github.com/rota-run/rota/store/nats"
	"strconv"
	"testing"
	"time"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/store"
)

// asInCluster is a handle that takes its server for one of several: it names its writes, and has reads and refusals confirmed.
func asInCluster(t *testing.T) *Store {
	t.Helper()
	s := openWith(t, Options{Bucket: bucket()})
	s.replicas = 3
	return s
}

// TestRefusals gives writes the refusals that leaders give, old ones and the present one, and says what may be made of them.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const mine = "mine"
	for name, c := range map[string]struct {
		expected uint64 // as if the caller had seen the message at this sequence, counted from the first of its subject
		to       int64  // where the refusing leader's newest message stands, counted likewise; -1: it does not say
		chain    []string
		lost     bool // the connection has changed meanwhile
		away     bool // nobody confirms
		want     error
	}{
		"somebody else was first":                      {expected: 0, to: 1, chain: []string{"first", "theirs"}, want: errMoved},
		"the same, many were":                          {expected: 0, to: 3, chain: []string{"first", "a", "b", "c"}, want: errMoved},
		"an old leader refused what was done":          {expected: 1, to: 0, chain: []string{"older", "first", mine}},
		"refused without a number, and done":           {expected: 0, to: -1, chain: []string{"first", mine}},
		"an old leader, and somebody else was first":   {expected: 1, to: 0, chain: []string{"older", "first", "theirs"}, want: errMoved},
		"an old leader, and nobody wrote":              {expected: 1, to: 0, chain: []string{"older", "first"}, want: errMoved},
		"an old leader, done perhaps, others after":    {expected: 1, to: 0, chain: []string{"older", "first", mine, "theirs"}, want: store.ErrUnknown},
		"the connection broke, and somebody wrote":     {expected: 0, to: 1, chain: []string{"first", "theirs"}, lost: true, want: store.ErrUnknown},
		"the connection broke, and it was done":        {expected: 0, to: 1, chain: []string{"first", mine}, lost: true},
		"nobody says what there is, perhaps our own":   {expected: 0, to: 1, chain: []string{"first", mine}, away: true, want: store.ErrUnknown},
		"nobody says what there is, perhaps another's": {expected: 0, to: 1, chain: []string{"first", "theirs"}, away: true, want: store.ErrUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := asInCluster(t)
			ctx, cancel := context.WithCancel(deadline(t))
			defer cancel()
			subject, first, last := s.names.doc("a"), uint64(0), uint64(0)
			for _, write := range c.chain {
				m := &nc.Msg{Subject: subject, Header: nc.Header{headerExpect: {strconv.FormatUint(last, 10)}, headerWrite: {write}}}
				var err error
				if last, err = s.publish(ctx, s.names.docs(), m); err != nil {
					t.Fatal(err)
				}
				if first == 0 {
					first = last
				}
			}
			refusal := &movedError{}
			if c.to >= 0 {
				refusal.to = first + uint64(c.to)
			}
			line, lose := context.WithCancel(context.Background())
			defer lose()
			if c.lost {
				lose()
			}
			if c.away {
				cancel()
			}
			seq, err := s.refused(ctx, line, subject, first+c.expected, mine, refusal)
			if c.want == nil && (err != nil || seq != last) {
				t.Fatalf("%d, %v; want %d: it was done", seq, err, last)
			}
			if c.want != nil && !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if errors.Is(err, store.ErrUnknown) && errors.Is(err, errMoved) {
				t.Fatalf("error %v says two things", err)
			}
		})
	}
}

// TestReadsAreConfirmed has the newest message change between reading it and confirming it.
func TestReadsAreConfirmed(t *testing.T) {
	t.Parallel()
	s := asInCluster(t)
	v := mustPut(t, s, "a", "x", "")
	seq, _ := sequence(v)
	if err := s.confirm(deadline(t), s.names.doc("a"), seq); err != nil {
		t.Fatalf("confirm what is so: %v", err)
	}
	for _, wrong := range []uint64{0, seq - 1, seq + 1} {
		if err := s.confirm(deadline(t), s.names.doc("a"), wrong); !errors.Is(err, errMoved) {
			t.Errorf("confirm that %d is the newest: %v, want errMoved: it is %d", wrong, err, seq)
		}
	}
	if err := s.confirm(deadline(t), s.names.doc("b"), 0); err != nil {
		t.Errorf("confirm that there is nothing: %v", err)
	}
	wantValue(t, s, "a", "x", v)
}

// TestAShorterLogIsNotBelieved reads a log of which more has been seen.
func TestAShorterLogIsNotBelieved(t *testing.T) {
	t.Parallel()
	s := asInCluster(t)
	empty := func() error { _, err := s.Read(deadline(t), 0, 10); return err }
	if err := empty(); err != nil {
		t.Fatal(err)
	}
	s.head.reached(2)
	if err := empty(); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("read of an empty log that had two records: %v, want ErrUnavailable", err)
	}
	appendN(t, s, 1)
	if err := empty(); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("read of a log with one record that had two: %v, want ErrUnavailable", err)
	}
	appendN(t, s, 1)
	if page, err := s.Read(deadline(t), 0, 10); err != nil || page.Head != 2 {
		t.Fatalf("read: head %d, %v", page.Head, err)
	}
	s.head.reached(9)
	_ = empty()
	s.head.mu.Lock()
	s.head.short = s.head.short.Add(-staleFor)
	s.head.mu.Unlock()
	if page, err := s.Read(deadline(t), 0, 10); err != nil || page.Head != 2 {
		t.Fatalf("read after a long time: head %d, %v; want the log as it is, for the reader to judge", page.Head, err)
	}
}

// TestWhatRefusalsProve goes through the server's codes.
func TestWhatRefusalsProve(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code        int
		alone, many error
	}{
		{codeWrongSequence, errMoved, errMoved},
		{codeWrongSequence2, errMoved, errMoved},
		{codeTooLarge, store.ErrTooLarge, store.ErrTooLarge},
		{codeInsufficient, store.ErrUnavailable, store.ErrUnknown},
		{codeNoStorage, store.ErrUnavailable, store.ErrUnknown},
		{codeNotAvailable, store.ErrUnavailable, store.ErrUnknown},
		{codeSealed, store.ErrUnavailable, store.ErrUnavailable},
		{10077, store.ErrUnknown, store.ErrUnknown}, // the leader could not store it, others may have
		{99999, store.ErrUnknown, store.ErrUnknown},
	} {
		for replicas, want := range map[int]error{1: c.alone, 3: c.many} {
			err := publishError(&apiError{Code: c.code, Description: "wrong last sequence: 7"}, replicas)
			if !errors.Is(err, want) || errors.Is(err, store.ErrUnknown) != errors.Is(want, store.ErrUnknown) {
				t.Errorf("error %d with %d replicas: %v, want %v", c.code, replicas, err, want)
			}
		}
	}
	var moved *movedError
	if err := publishError(&apiError{Code: codeWrongSequence, Description: "wrong last sequence: 7"}, 3); !errors.As(err, &moved) || moved.to != 7 {
		t.Errorf("refusal %v, want one that names 7", err)
	}
}

// TestConsumersGo closes many watches: the server must not keep what they used.
func TestConsumersGo(t *testing.T) {
	t.Parallel()
	s := openWith(t, Options{Bucket: bucket()})
	consumers := func() int {
		var out struct {
			State struct {
				Consumers int `json:"consumer_count"`
			} `json:"state"`
		}
		if err := s.api(context.Background(), "STREAM.INFO", s.names.log(), struct{}{}, &out, false); err != nil {
			t.Fatal(err)
		}
		return out.State.Consumers
	}
	ctx, cancel := context.WithCancel(deadline(t))
	for range 5 {
		if _, err := s.WatchLog(ctx); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "there are five consumers", func() bool { return consumers() == 5 })
	start := time.Now()
	cancel()
	eventually(t, "the consumers are gone", func() bool { return consumers() == 0 })
	t.Logf("gone after %v", time.Since(start).Round(time.Millisecond))
}
