package nats

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/store"
)

// TestAsked: what is not answered is asked again, as often as allowed; an answer, also an error, ends it.
func TestAsked(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for _, c := range []struct {
		name    string
		answers []time.Duration // of each call, after how long; 0: none
		times   int
		err     error
		want    int // the call whose answer counts; 0: none
		took    time.Duration
		calls   int
	}{
		{"at once", []time.Duration{time.Second}, 2, nil, 1, time.Second, 1},
		{"the second one", []time.Duration{0, time.Second}, 2, nil, 2, 6 * time.Second, 2},
		{"the first one late", []time.Duration{7 * time.Second, 4 * time.Second}, 2, nil, 1, 7 * time.Second, 2},
		{"once alone", []time.Duration{0, time.Second}, 1, nil, 0, 20 * time.Second, 1},
		{"never", []time.Duration{0, 0, 0}, 2, nil, 0, 20 * time.Second, 2},
		{"refused", []time.Duration{time.Second}, 2, refused, 1, time.Second, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				var calls atomic.Int32
				began := time.Now()
				got, err := asked(ctx, 5*time.Second, c.times, func(ctx context.Context) (int, error) {
					n := int(calls.Add(1))
					var answer <-chan time.Time
					if c.answers[n-1] > 0 {
						answer = time.After(c.answers[n-1])
					}
					select {
					case <-answer:
						return n, c.err
					case <-ctx.Done():
						return 0, context.Cause(ctx)
					}
				})
				want := c.err
				if c.want == 0 {
					want = context.DeadlineExceeded
				}
				if took := time.Since(began); got != c.want || !errors.Is(err, want) || took != c.took ||
					int(calls.Load()) != c.calls {
					t.Errorf("answer %d, %v after %v and %d calls, want %d, %v after %v and %d", got, err, took,
						calls.Load(), c.want, want, c.took, c.calls)
				}
			})
		})
	}
}

// TestWhatComesTooLateIsDropped: nobody else would close it.
func TestWhatComesTooLateIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		dropped := make(chan int, 1)
		_, err := within(ctx, func() (int, error) { time.Sleep(time.Minute); return 7, nil }, // waits: in virtual time
			func(n int) { dropped <- n })
		if n := <-dropped; n != 7 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%d is dropped, %v", n, err)
		}
	})
}

// TestWhatARefusalMeans gives a write the refusals of leaders, replaced ones and the present one, each with the newest
// message of the subject.
func TestWhatARefusalMeans(t *testing.T) {
	t.Parallel()
	const mine = "mine"
	for name, c := range map[string]struct {
		chain    []string // the names of the writes of the subject, which have the sequences 1, 2, ...
		expected uint64   // the sequence that the write expected
		to       uint64   // the newest sequence of the leader that refused; 0: it does not say
		broken   bool     // the connection broke after the write was sent
		want     error    // nil: the write was done
	}{
		"somebody else was first":             {expected: 1, to: 2, chain: []string{"first", "theirs"}, want: errMoved},
		"no number, and others were":          {expected: 1, chain: []string{"first", "a", "b"}, want: errMoved},
		"many others were":                    {expected: 1, to: 4, chain: []string{"first", "a", "b", "c"}, want: errMoved},
		"an old leader refused what was done": {expected: 2, to: 1, chain: []string{"older", "first", mine}},
		"refused without a number, and done":  {expected: 1, chain: []string{"first", mine}},
		"an old leader, and somebody else was first": {expected: 2, to: 1, chain: []string{"older", "first", "theirs"},
			want: errMoved},
		"an old leader, and nobody wrote": {expected: 2, to: 1, chain: []string{"older", "first"}, want: errMoved},
		"an old leader, done perhaps, others after": {expected: 2, to: 1,
			chain: []string{"older", "first", mine, "theirs"}, want: store.ErrUnknown},
		"the connection broke, and somebody wrote": {expected: 1, to: 2, chain: []string{"first", "theirs"},
			broken: true, want: store.ErrUnknown},
		"the connection broke, and it was done": {expected: 1, to: 2, chain: []string{"first", mine}, broken: true},
	} {
		last := uint64(len(c.chain))
		newest := message{seq: last, header: nc.Header{
			headerExpect: {strconv.FormatUint(last-1, 10)},
			headerWrite:  {c.chain[last-1]},
		}}
		seq, err := judge(newest, mine, c.expected, c.broken, &movedError{to: c.to})
		switch {
		case c.want == nil && (err != nil || seq != last):
			t.Errorf("%s: %d, %v; want %d: it was done", name, seq, err, last)
		case !errors.Is(err, c.want):
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		case errors.Is(err, store.ErrUnknown) && errors.Is(err, errMoved):
			t.Errorf("%s: error %v says two things", name, err)
		}
	}
}

// TestWhatErrorCodesProve goes through the codes that a server refuses a message with.
func TestWhatErrorCodesProve(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code        int
		alone, many error
	}{
		{codeWrongSequence, errMoved, errMoved},
		{codeWrongSequence2, errMoved, errMoved},
		{codeTooLarge, store.ErrTooLarge, store.ErrTooLarge},
		{codeHeaderTooLarge, store.ErrTooLarge, store.ErrTooLarge},
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
	for code, want := range map[int]error{codeNoMessage: errAbsent, codeSequenceNotFound: errAbsent,
		codeNotAvailable: store.ErrUnavailable} {
		refusal := &apiError{Code: code}
		if err := readError(refusal); !errors.Is(err, want) {
			t.Errorf("error %d of a read: %v, want %v", code, err, want)
		}
		err := describeStore(t.Context(), refusal)
		if errors.Is(err, store.ErrUnavailable) != errors.Is(want, store.ErrUnavailable) {
			t.Errorf("error %d as a store is opened: %v", code, err)
		}
	}
	var moved *movedError
	if err := publishError(&apiError{Code: codeWrongSequence, Description: "wrong last sequence: 7"},
		3); !errors.As(err, &moved) || moved.to != 7 {
		t.Errorf("refusal %v, want one that names 7", err)
	}
}

// TestWhatNoAnswerProves: a change that was sent is unknown, also where its ctx has ended; a look is not.
func TestWhatNoAnswerProves(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	ended, cancel := context.WithCancelCause(context.Background())
	cancel(gone)
	for _, c := range []struct {
		ctx    context.Context
		err    error
		change bool
		want   error
	}{
		{context.Background(), io.EOF, true, store.ErrUnknown},
		{ended, io.EOF, true, store.ErrUnknown},
		{context.Background(), io.EOF, false, store.ErrUnavailable},
		{ended, io.EOF, false, gone},
		{ended, nc.ErrReconnectBufExceeded, true, store.ErrUnavailable}, // it was not sent
		{ended, nc.ErrMaxPayload, true, store.ErrTooLarge},
	} {
		if err := sendError(c.ctx, c.err, c.change); !errors.Is(err, c.want) ||
			errors.Is(err, store.ErrUnknown) != errors.Is(c.want, store.ErrUnknown) {
			t.Errorf("%v of a change %v: %v, want %v", c.err, c.change, err, c.want)
		}
	}
}

// TestMessages: what is deleted, and what the server leaves where something was, is no row; a page ends with its last
// message.
func TestMessages(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]message{ // order-free: each is judged alone
		"nothing": {}, "deleted": {seq: 1, header: nc.Header{headerOperation: {"PURGE"}}},
		"expired": {seq: 1, header: nc.Header{headerReason: {"MaxAge"}}},
	} {
		if !m.marker() {
			t.Errorf("%s is a row", name)
		}
	}
	if (message{seq: 1}).marker() {
		t.Error("a row is none")
	}
	for last, want := range map[string]error{"7": nil, "8": errBatch} { // order-free: each is judged alone
		end := &nc.Msg{Header: nc.Header{"Nats-Num-Pending": {"3"}, "Nats-Last-Sequence": {last}}}
		if left, err := endOf([]message{{seq: 7}}, end); !errors.Is(err, want) || err == nil && left != 3 {
			t.Errorf("a page up to %s with message 7: %d are left, %v", last, left, err)
		}
	}
}

func TestServerVersions(t *testing.T) {
	t.Parallel()
	for version, ok := range map[string]bool{
		"2.12.3": true, "2.12.10": true, "2.15.2": true, "3.0.0": true, "2.13.0-RC.1": true,
		"2.12.2": false, "2.11.99": false, "1.99.99": false, "2.9.25": false, "": false, "two": false,
	} {
		if err := checkServerVersion(version); (err == nil) != ok {
			t.Errorf("%q: %v", version, err)
		}
	}
}

func TestLimitIsNeverShorter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ttl      time.Duration
		replicas int
		want     string
	}{
		{time.Millisecond, 1, "1s"},
		{time.Second, 1, "1s"},
		{time.Second + 1, 1, "2s"},
		{2500 * time.Millisecond, 1, "3s"},
		{2500 * time.Millisecond, 3, "4s"},
		{time.Minute, 3, "61s"},
	} {
		if got := limit(c.ttl, c.replicas); got != c.want {
			t.Errorf("%v with %d replicas: %s, want %s", c.ttl, c.replicas, got, c.want)
		}
	}
}
