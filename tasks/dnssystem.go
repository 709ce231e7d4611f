package tasks

import (
	"context"
	"fmt"
	"net"
)

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
