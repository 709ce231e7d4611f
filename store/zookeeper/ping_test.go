package zookeeper

import (
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

// TestPings checks that a ping is sent after three eighths of the timeout without another request, and none after the
// connection was closed.
func TestPings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &quiet{answer: packet(0, 8000, 7, 8, 0, 0), began: time.Now()}
		w := &wire{Conn: q, sent: map[int32]time.Time{}, onShake: func(time.Time, time.Duration) {}}
		w.Write(packet(0, 0, 0)) // the handshake
		q.asked = nil
		must.Succeed(t, must.Err(w.Read(make([]byte, 100))))
		pass := func(d time.Duration) {
			time.Sleep(d) // waits: by the clock of the test
			synctest.Wait()
		}
		pass(2 * time.Second)
		w.Write(packet(pingID, opPing)) // the library's
		pass(2500 * time.Millisecond)   // ours at 3 s
		w.Write(packet(1, opSync))      // at 4.5 s
		pass(4 * time.Second)           // ours at 7.5 s
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
