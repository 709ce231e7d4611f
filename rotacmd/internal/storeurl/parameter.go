package storeurl

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ParameterError is what is wrong with a parameter of a URL that is well formed.
type ParameterError struct {
	Err error
	Try string // what to do about it
}

// Error implements error.
func (e *ParameterError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *ParameterError) Unwrap() error { return e.Err }

// asParameter says of an error that a parameter is wrong; one that says so already keeps what to do.
func asParameter(err error) error {
	try := "the parameters of docs/stores.md"
	if inner, ok := errors.AsType[*ParameterError](err); ok {
		try = inner.Try
	}
	return &ParameterError{err, try}
}

// parameters reads what follows the question mark.
func (u *URL) parameters(query string, kind Scheme, getenv func(string) string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("what follows the ? is not KEY=VALUE&KEY=VALUE")
	}
	known := slices.Sorted(slices.Values(append(slices.Clone(common), kind.Keys...)))
	t := &tlsFiles{}
	for _, k := range slices.Sorted(maps.Keys(values)) {
		switch {
		case !slices.Contains(known, k):
			return fmt.Errorf("unknown parameter %q: %s takes %s", k, kind.Name, strings.Join(known, ", "))
		case len(values[k]) > 1:
			return fmt.Errorf("parameter %q stands there twice", k)
		case values[k][0] == "":
			return fmt.Errorf("parameter %q has no value", k)
		}
		if err := u.set(k, values[k][0], t, getenv); err != nil {
			return fmt.Errorf("parameter %q: %w", k, err)
		}
	}
	if u.Password != "" && u.User == "" {
		return fmt.Errorf("there is a password, but no user: add user=NAME")
	}
	u.TLS, err = t.config()
	return err
}

func (u *URL) set(key, value string, t *tlsFiles, getenv func(string) string) (err error) {
	switch key {
	case "user":
		if u.User != "" {
			return fmt.Errorf("there is a user before the @ as well: leave one of them out")
		}
		u.User = value
	case "schema":
		if u.Schema != "" {
			return fmt.Errorf("the path names a schema as well: leave one of them out")
		}
		u.Schema = value
	case "password":
		u.Password, err = Secret(value, getenv)
	case "token", "api-key":
		u.Token, err = Secret(value, getenv)
	case "creds":
		u.Credentials = value
	case "mechanism":
		u.Mechanism = value
	case "timeout":
		u.Timeout, err = duration(value)
	case "session":
		u.Session, err = duration(value)
	case "replicas":
		u.Replicas, err = strconv.Atoi(value)
		if err != nil || u.Replicas < 1 || u.Replicas > 5 {
			return fmt.Errorf("%q must be 1 to 5", value)
		}
	case "tls":
		t.on, err = onOff(value)
		t.said = true
	case "ca":
		t.ca = value
	case "cert":
		t.cert = value
	case "key":
		t.key = value
	case "server-name":
		t.name = value
	default:
		u.Extra[key] = value
	}
	return err
}

func duration(text string) (time.Duration, error) {
	if len(text) > 64 {
		return 0, fmt.Errorf("%d bytes are no time from 100ms to 1h: write 6s", len(text))
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 100*time.Millisecond || d > time.Hour {
		return 0, fmt.Errorf("%q is not a time from 100ms to 1h: write 6s", text)
	}
	return d, nil
}

func onOff(text string) (bool, error) {
	switch text {
	case "on":
		return true, nil
	case "off":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither on nor off", text)
}

// Secret fetches a secret that is named, never written out: env:NAME or file:/path. Its error never contains it.
func Secret(ref string, getenv func(string) string) (string, error) {
	kind, rest, _ := strings.Cut(ref, ":")
	switch kind {
	case "env":
		if v := getenv(rest); v != "" {
			return v, nil
		}
		return "", &ParameterError{fmt.Errorf("the environment has no %s", rest), "export " + rest + "=…"}
	case "file":
		b, err := os.ReadFile(rest)
		if err != nil {
			return "", err
		}
		if v := strings.TrimSpace(string(b)); v != "" {
			return v, nil
		}
		return "", fmt.Errorf("%s is empty", rest)
	}
	return "", fmt.Errorf("a secret is named as env:NAME or file:/path, it does not stand there itself")
}

// tlsFiles is what a URL says of encryption.
type tlsFiles struct {
	on, said            bool
	ca, cert, key, name string
}

// config is nil where nothing asks for TLS. Without a ca, those that the system trusts are trusted.
func (t *tlsFiles) config() (*tls.Config, error) {
	asked := t.ca != "" || t.cert != "" || t.key != "" || t.name != ""
	switch {
	case t.said && !t.on && asked:
		return nil, fmt.Errorf("tls=off, and yet ca, cert, key or server-name: leave one of them out")
	case !t.on && !asked:
		return nil, nil
	case (t.cert == "") != (t.key == ""):
		return nil, fmt.Errorf("cert and key come together")
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.name}
	if t.ca != "" {
		b, err := os.ReadFile(t.ca)
		if err != nil {
			return nil, fmt.Errorf("read ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("ca %s holds no certificate in PEM", t.ca)
		}
	}
	if t.cert != "" {
		pair, err := tls.LoadX509KeyPair(t.cert, t.key)
		if err != nil {
			return nil, fmt.Errorf("read cert and key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
