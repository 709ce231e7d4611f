// Package address reads where the servers of a store are.
//
// # Purpose
//
// Drivers of several servers take their addresses alike. It is apart from package driver because of package net, which
// programs without a server need not link.
//
// # Failures
//
// Errors show nothing that may hold a password.
package address

import (
	"fmt"
	"net"
	"strings"
)

// Complete completes servers, which a driver calls what, to host:port. Nothing of a bad one is shown, since people put
// passwords there.
func Complete(what string, servers []string, port string) ([]string, error) {
	if len(servers) == 0 {
		return nil, fmt.Errorf("no %s: give at least one, like 127.0.0.1:%s", what, port)
	}
	all := make([]string, len(servers))
	for i, s := range servers {
		if strings.ContainsAny(s, "@/? ") || s == "" {
			return nil, fmt.Errorf("%s %d is not of the form host:port: give user, password and TLS by their own options", what, i+1)
		}
		host, own, err := net.SplitHostPort(s)
		if err != nil {
			host, own = strings.Trim(s, "[]"), port
		}
		if host == "" || own == "" || strings.Contains(s, "]") && net.ParseIP(host) == nil {
			return nil, fmt.Errorf("%s %d, %q, is not of the form host:port", what, i+1, s)
		}
		all[i] = net.JoinHostPort(host, own)
	}
	return all, nil
}
