package faultproxy_test

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// TestHealWaitsForWhatIsBeingDropped heals while bytes are swallowed: a connection of which one was is reset, and all
// others go on. One that was neither would be silent for ever.
func TestHealWaitsForWhatIsBeingDropped(t *testing.T) {
	t.Parallel()
	for n := range 60 {
		p, client, far := pair(t)
		var sent atomic.Uint64
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				if _, err := far.Write(binary.BigEndian.AppendUint64(nil, sent.Load()+1)); err != nil {
					return
				}
				sent.Add(1)
			}
		}()
		wantRead(t, client, string(binary.BigEndian.AppendUint64(nil, 1)))
		p.DropReplies()
		for range 10 * n { // another moment each time
			runtime.Gosched()
		}
		heal(t, p)
		healed := sent.Load()
		_ = client.SetReadDeadline(time.Now().Add(patience))
		for last, want := uint64(1), uint64(2); last <= healed+1; want++ {
			var buf [8]byte
			if _, err := io.ReadFull(client, buf[:]); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("silent after %d of %d that were sent before it was healed", last, healed)
			} else if err != nil {
				break // reset: some were swallowed
			}
			if last = binary.BigEndian.Uint64(buf[:]); last != want {
				t.Fatalf("number %d follows %d", last, want-1)
			}
		}
		client.Close()
		<-ended
	}
}

// TestHealWaitsForACut heals when the bytes up to a cut have just passed: a connection that is made afterwards is not
// reset by it.
func TestHealWaitsForACut(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for range 30 {
		p := proxy(t, s.listener.Addr().String())
		client := dial(t, p)
		s.conn(t)
		p.CutRequests(1)
		send(t, client, "xx")
		wantReset(t, client)
		heal(t, p)
		next := dial(t, p)
		far := s.conn(t)
		for range 20 {
			send(t, next, "question")
			wantRead(t, far, "question")
			send(t, far, "answer")
			wantRead(t, next, "answer")
		}
		if got := p.Stats().Reset; got > 1 {
			t.Fatalf("%d connections were reset", got)
		}
	}
}
