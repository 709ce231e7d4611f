package tasks

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/work"
	"github.com/rota-run/rota/work/worktest"
)

// nameServer is a small DNS server on loopback, UDP and TCP on one port.
type nameServer struct {
	addr string
	// answer fills in the reply; over is "udp" or "tcp".
	answer func(q dnsmessage.Question, over string, reply *dnsmessage.Message)
}

// bothWays listens at a port that is free for TCP and for UDP.
func bothWays(t *testing.T) (l net.Listener, u net.PacketConn) {
	t.Helper()
	for attempt := 1; ; attempt++ {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must.Succeed(t, err)
		if u, err = net.ListenPacket("udp", l.Addr().String()); err == nil {
			return l, u
		}
		l.Close()
		if attempt == 10 { // somebody may have this port for UDP, but not so often
			t.Fatal(err)
		}
	}
}

func serveDNS(t *testing.T, answer func(dnsmessage.Question, string, *dnsmessage.Message)) *nameServer {
	t.Helper()
	l, u := bothWays(t)
	s := &nameServer{addr: l.Addr().String(), answer: answer}
	ended := make(chan struct{}, 2)
	go func() { s.udp(u); ended <- struct{}{} }()
	go func() { s.tcp(l); ended <- struct{}{} }()
	t.Cleanup(func() { l.Close(); u.Close(); <-ended; <-ended })
	return s
}

func (s *nameServer) udp(u net.PacketConn) {
	buf := make([]byte, 4096)
	for {
		n, from, err := u.ReadFrom(buf)
		if err != nil {
			return
		}
		if out := s.reply(buf[:n], "udp"); out != nil {
			forged := append([]byte(nil), out...)
			forged[0]++ // a reply with another ID must be passed over
			_, _ = u.WriteTo(forged, from)
			_, _ = u.WriteTo([]byte("noise"), from)
			_, _ = u.WriteTo(out, from)
		}
	}
}

func (s *nameServer) tcp(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		var size [2]byte
		_, _ = io.ReadFull(c, size[:])
		in := make([]byte, binary.BigEndian.Uint16(size[:]))
		_, _ = io.ReadFull(c, in)
		out := s.reply(in, "tcp")
		_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...))
		c.Close()
	}
}

func (s *nameServer) reply(in []byte, over string) []byte {
	var m dnsmessage.Message
	if m.Unpack(in) != nil || len(m.Questions) != 1 {
		return nil
	}
	m.Response = true
	s.answer(m.Questions[0], over, &m)
	if !m.Response {
		return nil // stay silent
	}
	out, err := m.Pack()
	if err != nil {
		return nil
	}
	return out
}

func add(m *dnsmessage.Message, q dnsmessage.Question, bodies ...dnsmessage.ResourceBody) {
	for _, b := range bodies {
		m.Answers = append(m.Answers,
			dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 60},
				Body: b})
	}
}

// zone answers for the names of the tests.
func zone(q dnsmessage.Question, over string, m *dnsmessage.Message) {
	target := dnsmessage.MustNewName("mail.example.")
	switch strings.ToLower(q.Name.String()) + " " + q.Type.String()[4:] {
	case "a.example. A":
		add(m, q, &dnsmessage.AResource{A: [4]byte{192, 0, 2, 1}}, &dnsmessage.AResource{A: [4]byte{192, 0, 2, 2}})
	case "a.example. AAAA":
		add(m, q, &dnsmessage.AAAAResource{AAAA: [16]byte{0x20, 1, 0xd, 0xb8, 15: 1}})
	case "a.example. MX":
		add(m, q, &dnsmessage.MXResource{Pref: 10, MX: target})
	case "a.example. NS":
		add(m, q, &dnsmessage.NSResource{NS: target})
	case "a.example. CNAME":
		add(m, q, &dnsmessage.CNAMEResource{CNAME: target})
	case "_s._tcp.a.example. SRV":
		add(m, q, &dnsmessage.SRVResource{Priority: 1, Weight: 2, Port: 3, Target: target})
	case "1.2.0.192.in-addr.arpa. PTR", "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa. PTR":
		add(m, q, &dnsmessage.PTRResource{PTR: target})
	case "big.example. TXT":
		if m.Truncated = over == "udp"; !m.Truncated {
			add(m, q, &dnsmessage.TXTResource{TXT: []string{"over ", "TCP"}})
		}
	case "broken.example. A":
		m.RCode = dnsmessage.RCodeServerFailure
	case "silent.example. A":
		m.Response = false
	case "a.example. TXT": // exists, but has none
	default:
		m.RCode = dnsmessage.RCodeNameError
	}
}

// An answer is to our question, whoever else sends to our port, and of the type that was asked for.
func TestDNSAnswers(t *testing.T) {
	t.Parallel()
	q := dnsmessage.Question{Name: dnsmessage.MustNewName("a.example."), Type: dnsmessage.TypeA,
		Class: dnsmessage.ClassINET}
	good := func() dnsmessage.Message {
		return dnsmessage.Message{Header: dnsmessage.Header{ID: 7, Response: true}, Questions: []dnsmessage.Question{q}}
	}
	for name, edit := range map[string]func(*dnsmessage.Message){
		"id":       func(m *dnsmessage.Message) { m.ID = 8 },
		"question": func(m *dnsmessage.Message) { m.Response = false },
		"none":     func(m *dnsmessage.Message) { m.Questions = nil },
		"two":      func(m *dnsmessage.Message) { m.Questions = append(m.Questions, q) },
		"type":     func(m *dnsmessage.Message) { m.Questions[0].Type = dnsmessage.TypeMX },
		"class":    func(m *dnsmessage.Message) { m.Questions[0].Class = dnsmessage.ClassCHAOS },
		"name":     func(m *dnsmessage.Message) { m.Questions[0].Name = dnsmessage.MustNewName("b.example.") },
	} {
		m := good()
		if edit(&m); answers(m, 7, q) {
			t.Errorf("%s: it is taken for ours", name)
		}
	}
	m := good()
	m.Questions[0].Name = dnsmessage.MustNewName("A.Example.")
	if !answers(m, 7, q) {
		t.Error("a name in other letters is refused")
	}
	alias := q
	alias.Type = dnsmessage.TypeCNAME
	add(&m, alias, &dnsmessage.CNAMEResource{CNAME: q.Name})
	add(&m, q, &dnsmessage.AResource{A: [4]byte{192, 0, 2, 1}})
	if got, err := records(m, q, "s"); err != nil || !slices.Equal(got, []string{"192.0.2.1"}) {
		t.Errorf("got %q %v, want the address alone", got, err)
	}
}

// Datagrams get lost: the question is sent again after a while, and noise does not end the wait.
func TestDNSAsksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer ours.Close()
		began := time.Now()
		go func() {
			in := make([]byte, 100)
			for range 2 {
				n, _ := theirs.Read(in)
				if time.Since(began) > 0 {
					_, _ = theirs.Write([]byte("noise"))
					_, _ = theirs.Write(in[:n])
				}
			}
		}()
		out := must.Get((&dnsmessage.Message{Header: dnsmessage.Header{ID: 7}}).Pack())(t)
		m, err := overUDP(ours, out, func(m dnsmessage.Message) bool { return m.ID == 7 })
		if err != nil || m.ID != 7 || time.Since(began) != udpRepeat {
			t.Errorf("%v after %v, want the answer after %v", err, time.Since(began), udpRepeat)
		}
	})
}

func TestDNSBySystem(t *testing.T) {
	t.Parallel()
	h, err := round(t, Options{}, "dns", object{"name": "localhost", "expect": []string{"127.0.0.1"}})
	wantUp(t, h, "dns", err)
}

// TestDNSKeepsToTheGuard: a definition names server, so it must not reach into the network of the member.
func TestDNSKeepsToTheGuard(t *testing.T) {
	t.Parallel()
	for _, network := range []string{"udp", "tcp"} {
		var refused *AddressError
		_, err := serverAsker{"127.0.0.1:53", guard{}.dialer(0)}.exchange(t.Context(), network, dnsmessage.Question{})
		if !errors.As(err, &refused) {
			t.Errorf("%s: got %v, want the address refused", network, err)
		}
	}
	s := serveDNS(t, zone)
	h, err := round(t, Options{}, "dns",
		object{"name": "a.example", "server": s.addr, "allow": []string{"127.0.0.0/8"}})
	wantUp(t, h, "dns", err)
}

// late is a resolver whose server does not answer.
type late struct{}

func (late) ask(context.Context, string, string) ([]string, error) {
	return nil, &net.DNSError{IsTimeout: true}
}

func TestDNSThatIsLate(t *testing.T) {
	t.Parallel()
	g, h := worktest.NewGrant(t, work.Definition{})
	err := (&dnsRunner{from: late{}, timeout: time.Minute, found: finder{prefix: "dns"}}).Run(t.Context(), g)
	wantDown(t, h, "dns", "timeout", err)
}

// FuzzDNSReply feeds any bytes as the reply of a server.
func FuzzDNSReply(f *testing.F) {
	q := dnsmessage.Question{Name: dnsmessage.MustNewName("a.example."), Type: dnsmessage.TypeMX,
		Class: dnsmessage.ClassINET}
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: 7, Response: true}, Questions: []dnsmessage.Question{q}}
	zone(q, "udp", &m)
	seed, err := m.Pack()
	must.Succeed(f, err)
	f.Add(seed)
	f.Fuzz(func(t *testing.T, b []byte) {
		var m dnsmessage.Message
		if m.Unpack(b) == nil && answers(m, m.ID, q) {
			if got, err := records(m, q, "s"); err == nil && len(got) == 0 {
				t.Fatal("no error and no records")
			}
		}
	})
}
