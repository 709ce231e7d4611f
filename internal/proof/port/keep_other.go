//go:build !linux

package port

import (
	"fmt"
	"net"
)

// Keep does nothing here.
func Keep(string) (release func(), err error) { return func() {}, nil }

// Find finds n ports that nobody had a moment ago, as "127.0.0.1:port". They are not kept here.
func Find(n int) (addrs []string, release func(), err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, nil, fmt.Errorf("find a port: %w", err)
		}
		defer l.Close() // all are held until all are found, so that none comes twice
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, func() {}, nil
}
