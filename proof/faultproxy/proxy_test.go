package faultproxy_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/port"
	"github.com/rota-run/rota/proof/faultproxy"
)

func TestPasses(t *testing.T) {
	t.Parallel()
	p, client, far := pair(t)
	send(t, client, "question")
	wantRead(t, far, "question")
	send(t, far, "answer")
	wantRead(t, client, "answer")
	want := faultproxy.Stats{Accepted: 1, Open: 1, Requests: 8, Replies: 6}
	eventually(t, "what has arrived is counted", func() bool { return p.Stats() == want })
}

func TestHalfClose(t *testing.T) {
	t.Parallel()
	p, client, far := pair(t)
	send(t, client, "all")
	must.Succeed(t, client.CloseWrite())
	wantRead(t, far, "all")
	wantEOF(t, far)
	send(t, far, "still")
	far.Close()
	wantRead(t, client, "still")
	wantEOF(t, client)
	eventually(t, "the connection is forgotten", func() bool { return p.Stats().Open == 0 })
	if s := p.Stats(); s.Reset != 0 {
		t.Errorf("an orderly end was counted as a reset: %+v", s)
	}
}

func TestResetPassesOn(t *testing.T) {
	t.Parallel()
	_, client, far := pair(t)
	send(t, client, "x")
	wantRead(t, far, "x")
	_ = far.SetLinger(0)
	far.Close()
	wantReset(t, client)
}

func TestCut(t *testing.T) {
	t.Parallel()
	s := serve(t)
	p := proxy(t, s.listener.Addr().String())
	client := dial(t, p)
	far := s.conn(t)
	p.Cut()
	if open := p.Stats().Open; open != 0 {
		t.Errorf("%d connections are open after Cut", open)
	}
	wantReset(t, client)
	wantReset(t, far)
	if late, err := net.Dial("tcp", p.Addr()); err == nil {
		wantReset(t, late.(*net.TCPConn))
		late.Close()
	}
	eventually(t, "the new connection is turned away", func() bool { return p.Stats().Turned == 1 })
	heal(t, p)
	client = dial(t, p)
	far = s.conn(t)
	send(t, client, "again")
	wantRead(t, far, "again")
}

func TestResetBehindAStall(t *testing.T) {
	t.Parallel()
	s := serve(t)
	p := proxy(t, s.listener.Addr().String())
	client := dial(t, p)
	far := s.conn(t)
	p.Stall()
	p.Reset()
	wantReset(t, client)
	wantReset(t, far)
	client = dial(t, p)
	far = s.conn(t)
	send(t, client, "hello")
	wantNothing(t, far)
	heal(t, p)
	wantRead(t, far, "hello")
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	s := serve(t)
	p := proxy(t, s.listener.Addr().String())
	client := dial(t, p)
	far := s.conn(t)
	p.Refuse()
	p.Refuse()
	if c, err := net.Dial("tcp", p.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("connect: %v, %v; want refused", c, err)
	}
	send(t, client, "old connections stay")
	wantRead(t, far, "old connections stay")
	heal(t, p)
	heal(t, p)
	client = dial(t, p)
	far = s.conn(t)
	send(t, client, "again")
	wantRead(t, far, "again")
}

func TestStallOneDirection(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		stall func(*faultproxy.Proxy)
		held  func(faultproxy.Stats) int64
		pick  func(client, far *net.TCPConn) (held, free *net.TCPConn) // by who sends
	}{
		{
			"requests", (*faultproxy.Proxy).StallRequests, func(s faultproxy.Stats) int64 { return s.HeldRequests },
			func(client, far *net.TCPConn) (*net.TCPConn, *net.TCPConn) { return client, far },
		},
		{
			"replies", (*faultproxy.Proxy).StallReplies, func(s faultproxy.Stats) int64 { return s.HeldReplies },
			func(client, far *net.TCPConn) (*net.TCPConn, *net.TCPConn) { return far, client },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, client, far := pair(t)
			held, free := c.pick(client, far)
			c.stall(p)
			send(t, held, "late")
			eventually(t, "the bytes are held", func() bool { return c.held(p.Stats()) == 4 })
			send(t, free, "passes")
			wantRead(t, held, "passes")
			wantNothing(t, free)
			heal(t, p)
			wantRead(t, free, "late")
		})
	}
}

// TestWhatPassedIsNotHeld has a byte arrive just before a stall: a test that waits until something is held must not
// take that byte for it.
func TestWhatPassedIsNotHeld(t *testing.T) {
	t.Parallel()
	p, client, far := pair(t)
	for range 1000 {
		send(t, client, "x")
		wantRead(t, far, "x")
		send(t, far, "y")
		wantRead(t, client, "y")
		p.Stall()
		if s := p.Stats(); s.HeldRequests != 0 || s.HeldReplies != 0 {
			t.Fatalf("%d and %d bytes are held: they have arrived", s.HeldRequests, s.HeldReplies)
		}
		heal(t, p)
	}
}

func TestStallHidesTheEnd(t *testing.T) {
	t.Parallel()
	p, client, far := pair(t)
	p.Stall()
	send(t, client, "last words")
	client.Close()
	wantNothing(t, far)
	heal(t, p)
	wantRead(t, far, "last words") // what was sent before giving up arrives late
	wantEOF(t, far)
}

func TestStallHidesAServerThatIsGone(t *testing.T) {
	t.Parallel()
	p, client, far := pair(t)
	p.StallReplies()
	_ = far.SetLinger(0)
	far.Close()
	wantNothing(t, client)
	heal(t, p)
	wantReset(t, client)
}

// TestStallHoldsAtOnce sends without pause while stalls come and go: after Stall returned nothing passes.
func TestStallHoldsAtOnce(t *testing.T) {
	t.Parallel()
	p, client, far := pair(t)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer client.Close()
	wg.Go(func() {
		for data := make([]byte, 8<<10); ; {
			if _, err := client.Write(data); err != nil {
				return
			}
		}
	})
	wg.Go(func() { _, _ = io.Copy(io.Discard, far) })
	for range 50 {
		before := p.Stats().Requests
		eventually(t, "bytes pass", func() bool { return p.Stats().Requests > before })
		p.StallRequests()
		held := p.Stats().Requests
		for range 100 {
			if now := p.Stats().Requests; now != held {
				t.Fatalf("%d bytes passed after StallRequests had returned", now-held)
			}
		}
		heal(t, p)
	}
	p.Cut()
}

// TestStallInterruptsAWrite fills the server's buffers, so that a write is under way when the stall comes.
func TestStallInterruptsAWrite(t *testing.T) {
	t.Parallel()
	p, client, far := pair(t)
	data := make([]byte, 16<<20)
	for i := range data {
		data[i] = byte(i * i >> 8)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		_, _ = client.Write(data)
		_ = client.CloseWrite()
	})
	last := int64(-1)
	eventually(t, "the server's buffers are full", func() bool {
		now := p.Stats().Requests
		full := now > 0 && now == last
		last = now
		return full
	})
	p.StallRequests()
	heal(t, p)
	_ = far.SetReadDeadline(time.Now().Add(patience))
	got, err := io.ReadAll(far)
	if err != nil || !bytes.Equal(got, data) {
		t.Fatalf("%d bytes arrived, %v; want %d, the same", len(got), err, len(data))
	}
}

func TestDropReplies(t *testing.T) {
	t.Parallel()
	p, client, far := pair(t)
	p.DropReplies()
	send(t, client, "do it")
	wantRead(t, far, "do it")
	send(t, far, "done")
	eventually(t, "the answer is swallowed", func() bool { return p.Stats().Dropped == 4 })
	wantNothing(t, client)
	heal(t, p)
	wantReset(t, client) // a stream with a hole must not go on
	wantReset(t, far)
}

func TestDropRepliesSparesWhoGotNone(t *testing.T) {
	t.Parallel()
	p, client, far := pair(t)
	p.DropReplies()
	heal(t, p)
	send(t, far, "whole")
	wantRead(t, client, "whole")
}

func TestCutRequests(t *testing.T) {
	t.Parallel()
	s := serve(t)
	p := proxy(t, s.listener.Addr().String())
	client := dial(t, p)
	far := s.conn(t)
	cut := p.CutRequests(3)
	send(t, client, "12")
	wantRead(t, far, "12")
	send(t, client, "345")
	wantRead(t, far, "3")
	<-cut
	wantReset(t, client)
	wantReset(t, far)
	if got := p.Stats(); got.Requests != 3 || got.Reset != 1 || got.Open != 0 {
		t.Errorf("stats %+v", got)
	}
	client = dial(t, p) // once is enough
	far = s.conn(t)
	send(t, client, "again")
	wantRead(t, far, "again")
}

func TestCutReplies(t *testing.T) {
	t.Parallel()
	p, client, far := pair(t)
	cut := p.CutReplies(4)
	send(t, client, "long question")
	wantRead(t, far, "long question")
	send(t, far, "answer")
	<-cut
	wantRead(t, client, "answ")
	wantReset(t, client)
}

func TestHealTakesBackACut(t *testing.T) {
	t.Parallel()
	p, client, far := pair(t)
	cut := p.CutRequests(2)
	heal(t, p)
	send(t, client, "more than two")
	wantRead(t, far, "more than two")
	select {
	case <-cut:
		t.Error("the channel of a cut that did not happen is closed")
	default:
	}
}

func TestDelayAndThrottleKeepTheBytes(t *testing.T) {
	t.Parallel()
	p, client, far := pair(t)
	p.Delay(5*time.Millisecond, 5*time.Millisecond)
	p.Throttle(2 << 20)
	r := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 256<<10)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	begun := time.Now()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for rest := data; len(rest) > 0; {
			n := min(len(rest), 1+r.IntN(20_000))
			if _, err := client.Write(rest[:n]); err != nil {
				return
			}
			rest = rest[n:]
		}
		_ = client.CloseWrite()
	})
	_ = far.SetReadDeadline(time.Now().Add(patience))
	got, err := io.ReadAll(far)
	if err != nil || sha256.Sum256(got) != sha256.Sum256(data) {
		t.Fatalf("%d bytes arrived, %v; want %d, the same", len(got), err, len(data))
	}
	if took := time.Since(begun); took < 100*time.Millisecond { // a lower bound: no load makes it shorter
		t.Errorf("256 KiB at 2 MiB/s took %v", took)
	}
}

func TestHealEndsADelay(t *testing.T) {
	t.Parallel()
	p, client, far := pair(t)
	p.Delay(time.Hour, 0)
	send(t, client, "x")
	eventually(t, "the byte is held", func() bool { return p.Stats().HeldRequests == 1 })
	heal(t, p)
	wantRead(t, far, "x")
}

func TestServerAwayThenBack(t *testing.T) {
	t.Parallel()
	addrs, release, err := port.Find(1) // nobody else gets it meanwhile
	must.Succeed(t, err)
	defer release()
	p := proxy(t, addrs[0])
	if c, err := net.Dial("tcp", p.Addr()); err == nil { // the reset may come before the connection is reported
		wantReset(t, c.(*net.TCPConn))
		c.Close()
	}
	eventually(t, "the connection is reset", func() bool { s := p.Stats(); return s.Accepted == 1 && s.Open == 0 })
	l := must.Get(net.Listen("tcp", addrs[0]))(t)
	defer l.Close()
	client := dial(t, p)
	far := must.Get(l.Accept())(t)
	defer far.Close()
	send(t, client, "back")
	wantRead(t, far.(*net.TCPConn), "back")
}

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	s := serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	p := must.Get(faultproxy.Listen(ctx, s.listener.Addr().String()))(t)
	client := dial(t, p)
	s.conn(t)
	p.Stall()
	send(t, client, "held for ever")
	cancel()
	wantReset(t, client)
	for range 2 {
		must.Succeed(t, p.Close())
	}
	release, err := port.Keep(p.Addr()) // who else gets it would take the connection that follows
	if err != nil {
		t.Fatalf("a closed proxy has its port still: %v", err)
	}
	defer release()
	if err := p.Heal(); err != nil {
		t.Errorf("heal of a closed proxy: %v", err)
	}
	if c, err := net.Dial("tcp", p.Addr()); err == nil {
		c.Close()
		t.Errorf("a closed proxy takes connections")
	}
}

// TestBreaksAreMended breaks everything at once and one by one: after Heal a new connection works.
func TestBreaksAreMended(t *testing.T) {
	t.Parallel()
	s := serve(t)
	p := proxy(t, s.listener.Addr().String())
	seen := map[string]bool{}
	for which := range uint64(30) {
		seen[p.Break(which)] = true
		if which < 15 {
			heal(t, p)
		}
	}
	if len(seen) < 10 {
		t.Errorf("30 numbers break in %d ways", len(seen))
	}
	heal(t, p)
	client := dial(t, p)
	far := s.conn(t)
	send(t, client, "whole")
	wantRead(t, far, "whole")
}

// TestResetWhileConnecting resets connections that the server has accepted and the proxy may not know of yet: the
// server sees a reset too.
func TestResetWhileConnecting(t *testing.T) {
	t.Parallel()
	s := serve(t)
	p := proxy(t, s.listener.Addr().String())
	for range 100 {
		client := dial(t, p)
		far := s.conn(t)
		p.Reset()
		wantReset(t, client)
		wantReset(t, far)
	}
}
