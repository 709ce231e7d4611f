package zookeeper

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/rota-run/rota/store"
)

// diagnose says what is wrong with the servers, and what to try.
func diagnose(err error) error {
	var away *awayError
	if !errors.As(err, &away) || away.last == nil {
		return unwrapSent(explain(err))
	}
	var shake *handshakeError
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.Is(away.last, errNotZooKeeper):
		return fmt.Errorf("%w: look at the port (2181 unless configured otherwise), and whether it wants TLS", err)
	case errors.As(away.last, &cert):
		return fmt.Errorf("%w: give the authority that signed the server's certificate", err)
	case errors.As(away.last, &record):
		return fmt.Errorf("%w: the port does not speak TLS: use the server's secureClientPort, or leave TLS out", err)
	case errors.As(away.last, &shake) && errors.Is(away.last, io.EOF):
		return fmt.Errorf("%w: the server closes new connections: it does not serve (no quorum: start more of the ensemble), wants TLS, or has too many clients (maxClientCnxns)", err)
	case errors.As(away.last, &shake) && speaksHTTP(shake.addr):
		return fmt.Errorf("%w: %w: it is an HTTP server; look at the port (2181 unless configured otherwise)", err, errNotZooKeeper)
	case errors.As(away.last, &shake):
		return fmt.Errorf("%w: the server takes the connection and does not answer: it hangs, has no quorum, or is not ZooKeeper", err)
	}
	return fmt.Errorf("%w: look at the addresses, at firewalls, and whether the servers run", err)
}

// unwrapSent leaves out that a request may have been done: what Open does can be done again.
func unwrapSent(err error) error {
	var sent *sentError
	if !errors.As(err, &sent) {
		return err
	}
	if strings.Contains(sent.err.Error(), "unknown error: -6") {
		return fmt.Errorf("the server is too old: 3.5 or newer is needed: %w", sent.err)
	}
	return fmt.Errorf("the server was there and went away: %w: %w", store.ErrUnavailable, sent.err)
}

// speaksHTTP reports whether a web server listens there. Those wait for the end of the handshake's first line, and so say nothing.
func speaksHTTP(addr string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	defer c.Close()
	answer := make([]byte, len("HTTP/"))
	if c.SetDeadline(time.Now().Add(time.Second)) != nil {
		return false
	}
	if _, err := io.WriteString(c, "HEAD / HTTP/1.0\r\n\r\n"); err != nil {
		return false
	}
	_, err = io.ReadFull(c, answer)
	return err == nil && string(answer) == "HTTP/"
}
