package zookeeper

import (
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
)

// quiet is a connection that records when requests are written, and returns a handshake to its reader.
type quiet struct {
	net.Conn
	answer []byte
	began  time.Time
	until  time.Time // of the reader's patience

	mu     sync.Mutex
	asked  []asked
	closed bool
}

type asked struct {
	op int32
	at time.Duration
}

func (q *quiet) Read(p []byte) (int, error) {
	n := copy(p, q.answer)
	q.answer = q.answer[n:]
	return n, nil
}

func (q *quiet) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return 0, io.ErrClosedPipe
	}
	q.asked = append(q.asked, asked{request(p).op(), time.Since(q.began)})
	return len(p), nil
}

func (q *quiet) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	return nil
}

func (q *quiet) SetReadDeadline(t time.Time) error {
	q.until = t
	return nil
}

// TestPings checks that a ping is sent after three eighths of the timeout without another request, and none after the
// connection was closed; that an answer is one to the oldest ping; and that a handshake gets no more time than it may.
func TestPings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &quiet{answer: packet(0, 8000, 7, 8, 0, 0), began: time.Now()}
		var heard time.Duration
		w := &wire{Conn: q, sent: map[int32]time.Time{}, onShake: func(time.Time, time.Duration) {},
			onAnswer: func(sent time.Time) { heard = sent.Sub(q.began) }, patience: time.Second}
		w.Write(packet(0, 0, 0)) // the handshake
		q.asked = nil
		for _, want := range []time.Duration{time.Second, time.Minute} {
			if w.SetReadDeadline(q.began.Add(time.Minute)); q.until.Sub(q.began) != want {
				t.Errorf("an answer may take %v, want %v", q.until.Sub(q.began), want)
			}
			if want == time.Second {
				must.Succeed(t, must.Err(w.Read(make([]byte, 100))))
			}
		}
		pass := func(d time.Duration) {
			time.Sleep(d) // waits: by the clock of the test
			synctest.Wait()
		}
		pass(2 * time.Second)
		w.Write(packet(pingID, opPing)) // the library's
		pass(2500 * time.Millisecond)   // ours at 3 s
		w.Write(packet(1, opSync))      // at 4.5 s
		pass(4 * time.Second)           // ours at 7.5 s
		q.answer = packet(pingID, 0, 0, 0)
		if must.Succeed(t, must.Err(w.Read(make([]byte, 100)))); heard != 3*time.Second {
			t.Errorf("the answer is to what was sent at %v, want 3s", heard)
		}
		q.answer = []byte{4, 0, 0, 1} // the length of an answer, a byte too much
		if _, err := w.Read(make([]byte, 100)); !errors.Is(err, errNotZooKeeper) {
			t.Errorf("the reader makes room for too much: %v", err)
		}
		w.Close()
		pass(time.Minute)
		w.ping() // the timer fired while the connection was being closed
		pass(time.Minute)
		want := []asked{{opPing, 3 * time.Second}, {opSync, 4500 * time.Millisecond}, {opPing, 7500 * time.Millisecond}}
		if !slices.Equal(q.asked, want) {
			t.Errorf("sent %v, want %v", q.asked, want)
		}
	})
}
