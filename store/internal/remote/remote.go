// Package remote has what the drivers of servers share before they are connected.
//
// # Purpose
//
// Drivers take addresses and logins alike, look alike at what another version has left, and say alike what to try where
// no server answers. It is apart from package driver because of package net, which programs without a server need not
// link.
//
// # Failures
//
// Errors show nothing that may hold a password.
package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/rota-run/rota/store"
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
		n, bad := strconv.ParseUint(own, 10, 16)
		literal := strings.ContainsAny(s, "[]") || err != nil && strings.Contains(s, ":")
		if bad != nil || n == 0 || host == "" || literal && net.ParseIP(host) == nil {
			return nil, fmt.Errorf("%s %d, %q, is not of the form host:port", what, i+1, s)
		}
		all[i] = net.JoinHostPort(host, own)
	}
	return all, nil
}

// CheckLogin refuses half of a login.
func CheckLogin(user, password string) error {
	if (user == "") != (password == "") {
		return errors.New("user and password: give both or neither")
	}
	return nil
}

// CheckFormat refuses a store that another version of Rota has made. away says how to leave it.
func CheckFormat(found, known int64, away string) error {
	switch {
	case found > known:
		return fmt.Errorf("the store has format %d, this program knows format %d: use a newer version of Rota", found,
			known)
	case found < known:
		return fmt.Errorf("the store has format %d, which only earlier versions of Rota read: %s, and submit the jobs again", found, away)
	}
	return nil
}

// OpenError adds to an error of opening what to try: hint, or that the product may not run there if ctx has ended.
func OpenError(ctx context.Context, err error, product, hint string) error {
	switch {
	case hint != "":
		return fmt.Errorf("%w (%s)", err, hint)
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w (%s)", store.ErrUnavailable, context.Cause(ctx), unreachable(product))
	}
	return err
}

func unreachable(product string) string {
	return "check that " + product + " runs there and that the network lets you through"
}

// CertificateHint is what to try where client or server do not trust the certificate of the other one. Some causes come
// as text only. It is "" where the error tells of something else.
func CertificateHint(err error) string {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.As(err, &authority), Says(err, "x509: certificate signed by unknown authority"):
		return "give the certificate of the authority that signed the server's"
	case Says(err, "x509: certificate has expired or is not yet valid"):
		return "renew the server's certificate, or set the clock of this machine"
	case errors.As(err, &name), Says(err, "doesn't contain any IP SANs", "x509: certificate"):
		return "the server's certificate is for another name: use the name that it has"
	case Says(err, "tls: certificate required", "tls: bad certificate", "tls: unknown certificate"):
		return "the server wants a certificate of the client, signed by an authority that the server trusts"
	}
	return ""
}

// ConnectHint is what to try where no server answered; plain are the words of a client that met a server without TLS.
// It is "" where nothing is known.
func ConnectHint(err error, product string, plain ...string) string {
	if hint := CertificateHint(err); hint != "" {
		return hint
	}
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &record), Says(err, plain...):
		return "the server does not speak TLS: leave TLS out"
	case Says(err, "connection refused", "no such host", "no route to host", "i/o timeout", "network is unreachable",
		"hostname resolving"):
		return unreachable(product)
	}
	return ""
}

// Says reports whether the text of an error has one of these parts.
func Says(err error, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(err.Error(), part) {
			return true
		}
	}
	return false
}
