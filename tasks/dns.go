package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/rota-run/rota/work"
)

// dnsConfig of dns.
type dnsConfig struct {
	Name   string   `json:"name"`
	Type   string   `json:"type"`   // A (default), AAAA, CNAME, MX, NS, PTR, SRV, TXT
	Server string   `json:"server"` // address or address:port; default: the resolver of the system, which also reads /etc/hosts
	Expect []string `json:"expect"` // values that must be among the answers, as "192.0.2.1", "10 mail.example.org"
	Exact  bool     `json:"exact"`  // no other answers
	Allow  []string `json:"allow"`  // CIDRs that server may be in although they are not public
}

// recordTypes that can be asked for.
var recordTypes = map[string]dnsmessage.Type{ // read-only: names of the protocol
	"A": dnsmessage.TypeA, "AAAA": dnsmessage.TypeAAAA, "CNAME": dnsmessage.TypeCNAME, "MX": dnsmessage.TypeMX,
	"NS": dnsmessage.TypeNS, "PTR": dnsmessage.TypePTR, "SRV": dnsmessage.TypeSRV, "TXT": dnsmessage.TypeTXT,
}

// asker finds the records of a name as written in the definition.
type asker interface {
	ask(ctx context.Context, name string, kind string) ([]string, error)
}

type dnsRunner struct {
	c       dnsConfig
	timeout time.Duration
	from    asker
	found   finder
}

// dns guards the address of server. The system's resolver is not guarded: its address is the choice of the machine, not
// of a definition.
func (o Options) dns() work.Type {
	return work.Type{
		Name: "dns", Doc: "a name resolves as expected", Periodic: true, DefaultEvery: defaultEvery,
		New: typed(func(c dnsConfig, d work.Definition, f *faults) work.Runner {
			from := c.check(f, o.guard(f, c.Allow))
			return &dnsRunner{c: c, timeout: roundTimeout(d), from: from, found: finder{prefix: "dns"}}
		}),
	}
}

func (c *dnsConfig) check(f *faults, g guard) asker {
	if c.Name == "" {
		f.add("name", "such as example.org", "missing")
	} else if _, err := dnsmessage.NewName(fullName(c.Name)); err != nil || strings.Contains(c.Name, "..") {
		f.add("name", "such as example.org", "%q is not a name", c.Name)
	}
	c.Type = cmp.Or(strings.ToUpper(c.Type), "A")
	if _, ok := recordTypes[c.Type]; !ok {
		f.add("type", "one of "+strings.Join(slices.Sorted(maps.Keys(recordTypes)), ", "), "unknown type %q", c.Type)
	}
	if c.Exact && len(c.Expect) == 0 {
		f.add("exact", "name the answers in expect", "exactly nothing is expected")
	}
	if c.Server == "" {
		return systemAsker{}
	}
	server := c.Server
	if a, err := netip.ParseAddr(server); err == nil {
		server = net.JoinHostPort(a.String(), "53")
	}
	at, err := netip.ParseAddrPort(server)
	if err != nil {
		f.add("server", "such as 9.9.9.9 or [2620:fe::fe]:53", "%q is not an address", c.Server)
	} else if err := g.check(at.Addr()); err != nil {
		f.add("server", "", "%w", err)
	}
	return serverAsker{server, g.dialer(0)}
}

func fullName(s string) string { return strings.TrimSuffix(s, ".") + "." }

// Run makes one round.
func (r *dnsRunner) Run(ctx context.Context, g *work.Grant) error {
	round, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	start := time.Now()
	answers, err := r.from.ask(round, r.c.Name, r.c.Type)
	took := time.Since(start)
	answered := err == nil
	if answered {
		err = r.c.compare(answers)
	}
	if de, ok := errors.AsType[*net.DNSError](err); ok && de.IsNotFound {
		err = &unexpected{"notfound", err}
	} else if ok && de.IsTimeout {
		err = &unexpected{"timeout", err}
	}
	out := r.found.report(ctx, g, err)
	if answered && !cut(ctx) {
		r.found.latency(g, "total", took)
		g.Value("dns.answers", float64(len(answers)), nil)
	}
	return out
}

// compare returns nil or an *unexpected.
func (c dnsConfig) compare(answers []string) error {
	var want, got []string
	for _, s := range c.Expect {
		want = append(want, canonical(s))
	}
	for _, s := range answers {
		got = append(got, canonical(s))
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			return &unexpected{"answer", fmt.Errorf("%s %s: %q is not among the answers %q", c.Type, c.Name, w, got)}
		}
	}
	for _, s := range got {
		if c.Exact && !slices.Contains(want, s) {
			return &unexpected{"answer", fmt.Errorf("%s %s: unexpected answer %q", c.Type, c.Name, s)}
		}
	}
	return nil
}

// canonical makes answers comparable: addresses in short form, names in small letters without the last dot.
func canonical(s string) string {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.Unmap().String()
	}
	return strings.TrimSuffix(strings.ToLower(s), ".")
}

// systemAsker asks as other programs of the machine do.
type systemAsker struct{}

func (systemAsker) ask(ctx context.Context, name, kind string) ([]string, error) {
	r := net.DefaultResolver
	switch kind {
	case "A", "AAAA":
		network := map[string]string{"A": "ip4", "AAAA": "ip6"}[kind]
		found, err := r.LookupNetIP(ctx, network, name)
		return texts(found, err)
	case "CNAME":
		found, err := r.LookupCNAME(ctx, name)
		return []string{found}, err
	case "MX":
		found, err := r.LookupMX(ctx, name)
		return each(found, func(m *net.MX) string { return fmt.Sprintf("%d %s", m.Pref, m.Host) }), err
	case "NS":
		found, err := r.LookupNS(ctx, name)
		return each(found, func(n *net.NS) string { return n.Host }), err
	case "SRV":
		_, found, err := r.LookupSRV(ctx, "", "", name)
		return each(found, func(s *net.SRV) string { return srvText(s.Priority, s.Weight, s.Port, s.Target) }), err
	case "PTR":
		return r.LookupAddr(ctx, name)
	}
	return r.LookupTXT(ctx, name)
}

func srvText(priority, weight, port uint16, target string) string {
	return fmt.Sprintf("%d %d %d %s", priority, weight, port, target)
}

func texts[T fmt.Stringer](found []T, err error) ([]string, error) {
	return each(found, T.String), err
}

func each[T any](in []T, text func(T) string) []string {
	out := make([]string, 0, len(in))
	for _, v := range in {
		out = append(out, text(v))
	}
	return out
}
