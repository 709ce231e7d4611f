package remote

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
)

func TestComplete(t *testing.T) {
	t.Parallel()
	got, err := Complete("server", []string{"zk1", "zk2:2182", "::1", "[::1]", "[::1]:99"}, "2181")
	if want := "zk1:2181 zk2:2182 [::1]:2181 [::1]:2181 [::1]:99"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	const secret = "correct-horse"
	for _, bad := range []string{"", ":1", "a:b:c", "a:0", "a:65536", "a:x", "[a]:1", "http://h:1", "me:" + secret +
		"@h:1", "h/p"} {
		_, err := Complete("server", []string{"good", bad}, "2181")
		if err == nil || !strings.Contains(err.Error(), "server 2") || !strings.Contains(err.Error(), "host:port") ||
			strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestConnectHint(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]string{
		x509.UnknownAuthorityError{}: "authority",
		x509.CertificateInvalidError{Cert: &x509.Certificate{}, Reason: x509.Expired}:           "renew",
		x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{"db"}}, Host: "h"}: "another name",
		errors.New("remote error: tls: certificate required"):                                   "certificate of the client",
		errors.New("remote error: tls: bad certificate"):                                        "certificate of the client",
		tls.RecordHeaderError{}:          "leave TLS out",
		errors.New("not in plain words"): "leave TLS out",
		syscall.ECONNREFUSED:             "check that Server runs there",
		io.ErrUnexpectedEOF:              "",
	} { // order-free: each by itself
		asText := errors.New(err.Error()) // some clients keep no more
		got := ConnectHint(fmt.Errorf("connect: %w", err), "Server", "not in plain words")
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
		if record := new(tls.RecordHeaderError); !errors.As(err, record) &&
			ConnectHint(asText, "Server", "not in plain words") != got {
			t.Errorf("%v as text: %q, want %q", err, ConnectHint(asText, "Server"), got)
		}
	}
}

func TestCheckFormat(t *testing.T) {
	t.Parallel()
	for found, want := range map[int64]string{1: "give another place, and submit the jobs again",
		3: "use a newer version"} {
		if err := CheckFormat(found, 2, "give another place"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("format %d: %v", found, err)
		}
	}
	if err := errors.Join(CheckFormat(2, 2, ""), CheckLogin("", ""), CheckLogin("me", "pw")); err != nil ||
		CheckLogin("me", "") == nil || CheckLogin("", "pw") == nil {
		t.Error(err)
	}
}
