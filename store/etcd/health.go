package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strconv"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rota-run/rota/store"
)

// minMajor and minMinor are the oldest version of the server that has what is needed here.
const minMajor, minMinor = 3, 4

// checkServer asks one server for its version, and for alarms. A server that does not tell is taken as it is.
func (c *conn) checkServer(ctx context.Context, o Options) error {
	for _, url := range o.urls() {
		st, err := c.client.Status(clientv3.WithRequireLeader(ctx), url)
		if err != nil {
			c.log.Debug("ask an etcd server for its version", "endpoint", url, "err", err)
			continue
		}
		if err := checkVersion(st.Version); err != nil {
			return err
		}
		if o.ReadOnly {
			return nil
		}
		return checkAlarms(st.Errors)
	}
	return nil
}

func checkVersion(version string) error {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	if errA != nil || errB != nil {
		return nil //nolint:nilerr // a server that was built by hand may say anything
	}
	if a < minMajor || a == minMajor && b < minMinor {
		return fmt.Errorf("the server is etcd %s: at least %d.%d is needed", version, minMajor, minMinor)
	}
	return nil
}

func checkAlarms(alarms []string) error {
	for _, a := range alarms {
		switch {
		case strings.Contains(a, "NOSPACE"):
			return fmt.Errorf("%w: the server is full and takes no writes (alarm NOSPACE): compact, defragment, and run etcdctl alarm disarm", store.ErrUnavailable)
		case strings.Contains(a, "CORRUPT"):
			return fmt.Errorf("%w: the server has found damage in its data (alarm CORRUPT): restore the member that it names: %s", store.ErrUnavailable, a)
		}
	}
	return nil
}

// openError says what to try.
func openError(ctx context.Context, err error) error {
	if hint := openHint(err); hint != "" {
		return fmt.Errorf("%w (%s)", err, hint)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w (check that etcd runs there and that the network lets you through)", store.ErrUnavailable, context.Cause(ctx))
	}
	return err
}

// openHint reads the cause of a failed connection. Some causes come as text only, since gRPC keeps no errors of connections.
func openHint(err error) string {
	var unknown x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	text := err.Error()
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(text, part) {
				return true
			}
		}
		return false
	}
	switch {
	case errors.As(err, &unknown), has("x509: certificate signed by unknown authority"):
		return "give the certificate of the authority that signed the server's"
	case has("x509: certificate is valid for", "doesn't contain any IP SANs", "x509: certificate"):
		return "the server's certificate is for another name: use the name that it has"
	case errors.As(err, &record), has("first record does not look like a TLS handshake", "authentication handshake failed: EOF"):
		return "the server does not seem to speak TLS: leave TLS out"
	case has("certificate required", "bad certificate"):
		return "the server wants a certificate of the client"
	case has("error reading server preface", "malformed HTTP", "unexpected HTTP status", "frame too large", "http2:"):
		return "this is not etcd without TLS: check address and port, and try with TLS"
	case status.Code(err) == codes.Unimplemented, has("unknown service", "Unimplemented"):
		return "this speaks gRPC but is not etcd: check address and port"
	case has("connection refused", "no such host", "no route to host", "i/o timeout", "network is unreachable"):
		return "check that etcd runs there and that the network lets you through"
	}
	return ""
}
