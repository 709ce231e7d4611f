package faultproxy_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/port"
	"github.com/rota-run/rota/proof/faultproxy"
)

// TestFaults plays each row on a client c and the server's end f of its connection: "c>x" is x sent by the client,
// "c<x" what it reads, "Open:0" what is counted at once and "~Open:0" what is counted in the end.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, acts := range map[string]string{ // order-free: each has a proxy of its own
		"all passes": "c>question f<question f>answer c<answer ~Requests:8 ~Replies:6 Accepted:1 Turned:0 Reset:0 Open:1 " +
			"Dropped:0 ~HeldRequests:0 ~HeldReplies:0",
		"half a close":             "c>all c.half f<all f.ended f>still f.close c<still c.ended ~Open:0 Reset:0",
		"a reset passes on":        "c>x f<x f.abort c.reset",
		"a cut":                    "cut Open:0 c.reset f.reset late ~Turned:1 heal again c>hello f<hello",
		"a reset behind a stall":   "stall reset c.reset f.reset again c>hello f.silent heal f<hello",
		"refused, twice":           "refuse refuse refused c>old f<old heal heal again c>hello f<hello",
		"requests stall":           "stall-requests c>late ~HeldRequests:4 f>passes c<passes f.silent heal f<late",
		"replies stall":            "stall-replies f>late ~HeldReplies:4 c>passes f<passes c.silent heal c<late",
		"a stall hides the end":    "stall c>last c.close f.silent heal f<last f.ended", // what was sent before giving up arrives late
		"a stall hides a death":    "stall-replies f.abort c.silent heal c.reset",
		"replies are dropped":      "drop c>do f<do f>done ~Dropped:4 c.silent heal c.reset f.reset", // a stream with a hole must not go on
		"nothing was dropped":      "drop heal f>whole c<whole",
		"a cut of requests":        "cut-requests=3 c>12 f<12 c>345 f<3 done c.reset f.reset Requests:3 Reset:1 Open:0 again c>x f<x",
		"a cut of replies":         "cut-replies=4 c>question f<question f>answer done c<answ c.reset Replies:4",
		"a cut that is taken back": "cut-requests=2 heal c>more f<more undone",
		"a delay that is ended":    "delay c>x ~HeldRequests:1 heal f<x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			p := &played{t: t, server: s, proxy: proxy(t, s.listener.Addr().String())}
			p.again()
			for act := range strings.FieldsSeq(acts) {
				t.Log(act)
				p.play(act)
			}
		})
	}
}

// played is a row of TestFaults.
type played struct {
	t           *testing.T
	server      *server
	proxy       *faultproxy.Proxy
	client, far *net.TCPConn
	cut         <-chan struct{}
}

// again makes a new connection.
func (p *played) again() { p.client, p.far = dial(p.t, p.proxy), p.server.conn(p.t) }

// breaks are the faults of which there is no more to say.
var breaks = map[string]func(*faultproxy.Proxy){
	"stall": (*faultproxy.Proxy).Stall, "stall-requests": (*faultproxy.Proxy).StallRequests,
	"stall-replies": (*faultproxy.Proxy).StallReplies, "drop": (*faultproxy.Proxy).DropReplies,
	"refuse": (*faultproxy.Proxy).Refuse, "cut": (*faultproxy.Proxy).Cut, "reset": (*faultproxy.Proxy).Reset,
	"delay": func(p *faultproxy.Proxy) { p.Delay(time.Hour, 0) },
}

func (p *played) play(act string) {
	p.t.Helper()
	if fault := breaks[act]; fault != nil {
		fault(p.proxy)
		return
	}
	do, value, _ := strings.Cut(act, "=")
	n, _ := strconv.ParseInt(value, 10, 64) // where there is one
	counted := func() bool {
		all := strings.Fields(strings.Trim(fmt.Sprintf("%+v", p.proxy.Stats()), "{}"))
		return slices.Contains(all, strings.TrimPrefix(act, "~"))
	}
	switch do {
	case "again":
		p.again()
	case "heal":
		heal(p.t, p.proxy)
	case "cut-requests":
		p.cut = p.proxy.CutRequests(n)
	case "cut-replies":
		p.cut = p.proxy.CutReplies(n)
	case "done":
		<-p.cut
	case "undone":
		select {
		case <-p.cut:
			p.t.Error("the channel of a cut that did not happen is closed")
		default:
		}
	case "refused":
		if c, err := net.Dial("tcp", p.proxy.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
			p.t.Errorf("connect: %v, %v; want refused", c, err)
		}
	case "late": // a connection that comes while all are cut
		if late, err := net.Dial("tcp", p.proxy.Addr()); err == nil {
			wantReset(p.t, late.(*net.TCPConn))
			late.Close()
		}
	default:
		switch {
		case act[0] == '~':
			eventually(p.t, act, counted)
		case strings.Contains(act, ":"):
			if !counted() {
				p.t.Errorf("%s: the stats are %+v", act, p.proxy.Stats())
			}
		default:
			p.end(map[byte]*net.TCPConn{'c': p.client, 'f': p.far}[act[0]], act[1:])
		}
	}
}

// end plays what one end does or sees.
func (p *played) end(c *net.TCPConn, act string) {
	p.t.Helper()
	switch {
	case act[0] == '>':
		send(p.t, c, act[1:])
	case act[0] == '<':
		wantRead(p.t, c, act[1:])
	case act == ".silent":
		wantNothing(p.t, c)
	case act == ".reset":
		wantReset(p.t, c)
	case act == ".ended":
		wantEOF(p.t, c)
	case act == ".half":
		must.Succeed(p.t, c.CloseWrite())
	case act == ".abort":
		_ = c.SetLinger(0)
		c.Close()
	case act == ".close":
		c.Close()
	default:
		p.t.Fatalf("no act is %q", act)
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
