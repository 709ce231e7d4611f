package etcd

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/remote"
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

// openError says what to try. Some causes come as text only, since gRPC keeps no errors of connections.
func openError(ctx context.Context, err error) error {
	hint := remote.ConnectHint(err, "etcd", "first record does not look like a TLS handshake", "authentication handshake failed: EOF")
	switch {
	case hint != "":
	case remote.Says(err, "certificate required", "bad certificate"):
		hint = "the server wants a certificate of the client"
	case remote.Says(err, "error reading server preface", "malformed HTTP", "unexpected HTTP status", "frame too large", "http2:"):
		hint = "this is not etcd without TLS: check address and port, and try with TLS"
	case status.Code(err) == codes.Unimplemented, remote.Says(err, "unknown service", "Unimplemented"):
		hint = "this speaks gRPC but is not etcd: check address and port"
	}
	return remote.OpenError(ctx, err, "etcd", hint)
}
