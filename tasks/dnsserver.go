package tasks

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// serverAsker asks one server and nothing else: no hosts file, no search list, no cache. UDP first, TCP when the answer
// was cut (RFC 1035, 7766). A UDP question is repeated, since datagrams get lost.
type serverAsker struct {
	addr   string
	dialer *net.Dialer // under the guard
}

// udpRepeat is how long an answer to one datagram is waited for.
const udpRepeat = 2 * time.Second

func (s serverAsker) ask(ctx context.Context, name, kind string) ([]string, error) {
	if kind == "PTR" {
		name = reverseName(name)
	}
	full, err := dnsmessage.NewName(fullName(name))
	if err != nil {
		return nil, fmt.Errorf("ask for %q: %w", name, err)
	}
	q := dnsmessage.Question{Name: full, Type: recordTypes[kind], Class: dnsmessage.ClassINET}
	m, err := s.exchange(ctx, "udp", q)
	if err == nil && m.Truncated {
		m, err = s.exchange(ctx, "tcp", q)
	}
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", s.addr, err)
	}
	return records(m, q, s.addr)
}

// reverseName turns an address into the name under which its names are kept; other names stay.
func reverseName(name string) string {
	a, err := netip.ParseAddr(strings.TrimSuffix(name, "."))
	if err != nil {
		return name
	}
	a = a.Unmap()
	var b strings.Builder
	raw := a.AsSlice()
	for i := len(raw) - 1; i >= 0; i-- {
		if a.Is4() {
			fmt.Fprintf(&b, "%d.", raw[i])
		} else {
			fmt.Fprintf(&b, "%x.%x.", raw[i]&15, raw[i]>>4)
		}
	}
	if a.Is4() {
		return b.String() + "in-addr.arpa."
	}
	return b.String() + "ip6.arpa."
}

func (s serverAsker) exchange(ctx context.Context, network string, q dnsmessage.Question) (dnsmessage.Message, error) {
	conn, err := s.dialer.DialContext(ctx, network, s.addr)
	if err != nil {
		return dnsmessage.Message{}, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	id := uint16(rand.Uint32())
	out, err := (&dnsmessage.Message{Header: dnsmessage.Header{ID: id, RecursionDesired: true},
		Questions: []dnsmessage.Question{q}}).Pack()
	if err != nil {
		return dnsmessage.Message{}, err
	}
	talk := overUDP
	if network == "tcp" {
		talk = overTCP
	}
	m, err := talk(conn, out, func(m dnsmessage.Message) bool { return answers(m, id, q) })
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // not that the connection was closed, which was us
	}
	return m, err
}

// answers reports whether m answers our question: others may send to our port.
func answers(m dnsmessage.Message, id uint16, q dnsmessage.Question) bool {
	return m.ID == id && m.Response && len(m.Questions) == 1 && m.Questions[0].Type == q.Type &&
		m.Questions[0].Class == q.Class &&
		strings.EqualFold(m.Questions[0].Name.String(), q.Name.String())
}

// overUDP repeats the question until the connection is closed.
func overUDP(conn net.Conn, out []byte, ours func(dnsmessage.Message) bool) (dnsmessage.Message, error) {
	in := make([]byte, 65535)
	for {
		if _, err := conn.Write(out); err != nil {
			return dnsmessage.Message{}, err
		}
		if err := conn.SetReadDeadline(time.Now().Add(udpRepeat)); err != nil {
			return dnsmessage.Message{}, err
		}
		for {
			n, err := conn.Read(in)
			if isTimeout(err) {
				break
			}
			if err != nil {
				return dnsmessage.Message{}, err
			}
			if n < 2 || !bytes.Equal(in[:2], out[:2]) { // whoever floods the port must not make us unpack it all
				continue
			}
			var m dnsmessage.Message
			if m.Unpack(in[:n]) == nil && ours(m) {
				return m, nil
			}
		}
	}
}

func overTCP(conn net.Conn, out []byte, ours func(dnsmessage.Message) bool) (dnsmessage.Message, error) {
	var m dnsmessage.Message
	framed := append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...)
	if _, err := conn.Write(framed); err != nil {
		return m, err
	}
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return m, err
	}
	in := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(conn, in); err != nil {
		return m, err
	}
	if err := m.Unpack(in); err != nil {
		return m, err
	}
	if !ours(m) {
		return m, errors.New("the answer is not to our question")
	}
	return m, nil
}

// records returns the answers of the asked type; no such name and no such records are both "not found".
func records(m dnsmessage.Message, q dnsmessage.Question, server string) ([]string, error) {
	fail := &net.DNSError{Name: q.Name.String(), Server: server}
	switch m.RCode {
	case dnsmessage.RCodeSuccess:
	case dnsmessage.RCodeNameError:
		fail.Err, fail.IsNotFound = "no such name", true
		return nil, fail
	default:
		fail.Err = "the server answered " + strings.TrimPrefix(m.RCode.String(), "RCode")
		return nil, fail
	}
	var out []string
	for _, a := range m.Answers {
		if a.Header.Type == q.Type {
			out = append(out, recordText(a.Body))
		}
	}
	if len(out) == 0 {
		fail.Err, fail.IsNotFound = "no records of this type", true
		return nil, fail
	}
	return out, nil
}

func recordText(body dnsmessage.ResourceBody) string {
	switch b := body.(type) {
	case *dnsmessage.AResource:
		return netip.AddrFrom4(b.A).String()
	case *dnsmessage.AAAAResource:
		return netip.AddrFrom16(b.AAAA).String()
	case *dnsmessage.CNAMEResource:
		return b.CNAME.String()
	case *dnsmessage.MXResource:
		return fmt.Sprintf("%d %s", b.Pref, b.MX)
	case *dnsmessage.NSResource:
		return b.NS.String()
	case *dnsmessage.PTRResource:
		return b.PTR.String()
	case *dnsmessage.SRVResource:
		return srvText(b.Priority, b.Weight, b.Port, b.Target.String())
	case *dnsmessage.TXTResource:
		return strings.Join(b.TXT, "")
	}
	return body.GoString()
}
