package tasks

import (
	"net"
	"strconv"
)

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
