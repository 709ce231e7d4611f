package tasks

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// AddressError reports that a task may not connect to an address.
type AddressError struct {
	Addr netip.Addr
	Kind string // what the address is: "private", "loopback", ...
}

// Error names the address, its kind and the way out.
func (e *AddressError) Error() string {
	return fmt.Sprintf("address %s is refused: it is %s; put its CIDR into the task's allow or the member's --allow-net if that is meant", e.Addr, e.Kind)
}

// ParseCIDRs parses "10.0.0.0/8", "fd00::/8" and single addresses.
func ParseCIDRs(texts []string) ([]netip.Prefix, error) {
	out := make([]netip.Prefix, 0, len(texts))
	for _, s := range texts {
		p, err := parseCIDR(s)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func parseCIDR(s string) (netip.Prefix, error) {
	if !strings.Contains(s, "/") {
		a, err := netip.ParseAddr(s)
		if err != nil || a.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf("%q is neither a CIDR such as 10.0.0.0/8 nor an address", s)
		}
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is not a CIDR such as 10.0.0.0/8", s)
	}
	if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
	}
	return p.Masked(), nil
}

// guard decides which addresses may be connected to.
type guard struct{ allow []netip.Prefix }

// guard joins the member's list with that of a definition.
func (o Options) guard(f *faults, allow []string) guard {
	g := guard{allow: slices.Clone(o.AllowCIDRs)}
	for i, s := range allow {
		p, err := parseCIDR(s)
		if err != nil {
			f.add(fmt.Sprintf("allow[%d]", i), "", "%w", err)
			continue
		}
		g.allow = append(g.allow, p)
	}
	return g
}

// check returns nil or an *AddressError.
func (g guard) check(a netip.Addr) error {
	a = a.WithZone("").Unmap()
	if g.allows(a) {
		return nil
	}
	judged := a
	if inner, ok := embedded(a); ok {
		if g.allows(inner) {
			return nil
		}
		judged = inner
	}
	if kind := kindOf(judged); kind != "" {
		return &AddressError{Addr: a, Kind: kind}
	}
	return nil
}

func (g guard) allows(a netip.Addr) bool {
	return slices.ContainsFunc(g.allow, func(p netip.Prefix) bool { return p.Contains(a) })
}

// checkHost refuses a literal address early, when the definition is read; names are checked when they are connected to.
func (g guard) checkHost(host string) error {
	if a, err := netip.ParseAddr(host); err == nil {
		return g.check(a)
	}
	return nil
}

// control is a net.Dialer.Control: it sees the address after the name was resolved, right before connect.
func (g guard) control(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("check address %q: %w", address, err)
	}
	return g.check(ap.Addr())
}

// dialer returns a dialer under the guard.
func (g guard) dialer(timeout time.Duration) *net.Dialer {
	return &net.Dialer{Timeout: timeout, KeepAlive: -1, Control: g.control}
}

// special are ranges that are not the public Internet and that netip has no method for (IANA special-purpose
// registries), and addresses at which clouds serve credentials though they are not link-local.
var special = []struct {
	prefix netip.Prefix
	kind   string
}{
	{netip.MustParsePrefix("169.254.169.254/32"), "a metadata service"},
	{netip.MustParsePrefix("169.254.170.2/32"), "a metadata service"},
	{netip.MustParsePrefix("100.100.100.200/32"), "a metadata service"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a metadata service"},
	{netip.MustParsePrefix("192.0.0.192/32"), "a metadata service"},
	{netip.MustParsePrefix("fd00:ec2::254/128"), "a metadata service"},
	{netip.MustParsePrefix("fd20:ce::254/128"), "a metadata service"},
	{netip.MustParsePrefix("0.0.0.0/8"), "this host"},
	{netip.MustParsePrefix("100.64.0.0/10"), "shared by carriers (private)"},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved"},
	{netip.MustParsePrefix("198.18.0.0/15"), "for benchmarks (private)"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "a local translation prefix"},
	{netip.MustParsePrefix("2001::/32"), "a Teredo tunnel"},
	{netip.MustParsePrefix("fec0::/10"), "site-local (private)"},
	{netip.MustParsePrefix("100::/64"), "a discard prefix"},
}

// kindOf says why an address is not public, "" if it is.
func kindOf(a netip.Addr) string {
	for _, s := range special {
		if s.prefix.Contains(a) {
			return s.kind
		}
	}
	switch {
	case !a.IsValid():
		return "no address"
	case a.IsLoopback():
		return "loopback"
	case a.IsPrivate():
		return "private"
	case a.IsLinkLocalUnicast(), a.IsLinkLocalMulticast():
		return "link-local"
	case a.IsUnspecified():
		return "this host"
	case a.IsMulticast():
		return "multicast"
	}
	return ""
}

var (
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")
	siit      = netip.MustParsePrefix("::ffff:0:0:0/96")
	v4compat  = netip.MustParsePrefix("::/96")
)

// embedded returns the IPv4 address that an IPv6 address leads to by translation or tunnel.
func embedded(a netip.Addr) (netip.Addr, bool) {
	if !a.Is6() {
		return netip.Addr{}, false
	}
	b := a.As16()
	switch {
	case sixToFour.Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	case nat64.Contains(a), siit.Contains(a), v4compat.Contains(a) && !a.IsLoopback() && !a.IsUnspecified():
		return netip.AddrFrom4([4]byte(b[12:16])), true
	}
	return netip.Addr{}, false
}

// checkEndpoint checks "host:port" and whether a literal address is refused.
func checkEndpoint(f *faults, g guard, path, text string) (host string) {
	if text == "" {
		f.add(path, "such as example.org:443", "missing")
		return ""
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" {
		f.add(path, "such as example.org:443 or [2001:db8::1]:443", "%q is not host:port", text)
		return ""
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		f.add(path, "a number from 1 to 65535", "%q is not a port", port)
	}
	if err := g.checkHost(host); err != nil {
		f.add(path, "", "%w", err)
	}
	return host
}
