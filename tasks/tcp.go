package tasks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptrace"
	"time"

	"github.com/rota-run/rota/work"
)

// tcpConfig of tcp.
type tcpConfig struct {
	Addr   string `json:"addr"`   // host:port
	Send   string `json:"send"`   // written after connecting
	Expect string `json:"expect"` // must occur in the first max_answer bytes of the answer
	// MaxAnswer is how many bytes of the answer are read; default 64 KiB, at most 1 MiB.
	MaxAnswer int      `json:"max_answer"`
	Allow     []string `json:"allow"` // CIDRs that are allowed although they are not public
}

type tcpRunner struct {
	c       tcpConfig
	timeout time.Duration
	dialer  *net.Dialer
	found   finder
}

func (o Options) tcp() work.Type {
	return work.Type{
		Name: "tcp", Doc: "a port accepts connections and, if asked, talks as expected", Periodic: true,
		DefaultEvery: defaultEvery,
		New: typed(func(c tcpConfig, d work.Definition, f *faults) work.Runner {
			g := o.guard(f, c.Allow)
			checkEndpoint(f, g, "addr", c.Addr)
			tcpAnswer.settle(f, &c.MaxAnswer)
			if len(c.Expect) > c.MaxAnswer {
				f.add("expect", "max_answer says how many", "longer than the %d bytes that are read", c.MaxAnswer)
			}
			timeout := roundTimeout(d)
			return &tcpRunner{c: c, timeout: timeout, dialer: g.dialer(timeout), found: finder{prefix: "tcp"}}
		}),
	}
}

// Run makes one round.
func (t *tcpRunner) Run(ctx context.Context, g *work.Grant) error {
	round, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	var p phases
	start := time.Now()
	err := t.talk(httptrace.WithClientTrace(round, p.trace()), &p)
	total := time.Since(start)
	out := t.found.report(ctx, g, err)
	if err == nil && !cut(ctx) {
		t.found.latencies(g, &p)
		t.found.latency(g, "total", total)
	}
	return out
}

func (t *tcpRunner) talk(ctx context.Context, p *phases) error {
	conn, err := t.dialer.DialContext(ctx, "tcp", t.c.Addr)
	if err != nil {
		return err // names the address
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })() // ends a read or write that waits
	if _, err := io.WriteString(conn, t.c.Send); err != nil {
		return fmt.Errorf("send to %s: %w", t.c.Addr, err)
	}
	if t.c.Expect == "" {
		return nil
	}
	p.begin("first_byte")
	return t.await(conn, p)
}

// await reads until what is expected has come.
func (t *tcpRunner) await(conn io.Reader, p *phases) error {
	answer, searched := make([]byte, 0, 4096), 0
	for len(answer) < t.c.MaxAnswer {
		n, err := conn.Read(answer[len(answer):min(cap(answer), t.c.MaxAnswer)])
		if n > 0 {
			p.end("first_byte")
		}
		answer = answer[:len(answer)+n]
		switch {
		case bytes.Contains(answer[searched:], []byte(t.c.Expect)):
			return nil
		case errors.Is(err, io.EOF):
			return &unexpected{"answer", fmt.Errorf("%s closed before it answered %q", t.c.Addr, t.c.Expect)}
		case err != nil:
			return fmt.Errorf("read answer of %s: %w", t.c.Addr, err)
		}
		searched = max(0, len(answer)-len(t.c.Expect)) // a server that sends byte by byte must not cost a search of all for each
		if len(answer) == cap(answer) {
			answer = append(answer, 0)[:len(answer)]
		}
	}
	return &unexpected{"answer", fmt.Errorf("%s did not answer %q; its answer has %s", t.c.Addr, t.c.Expect,
		tcpAnswer.beyond(t.c.MaxAnswer))}
}
