package tasks

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
)

const maxSecret = 64 << 10

// secretText is a config value that may be, or end in, a reference to a secret: "env:NAME", "file:/path" or "Bearer
// env:NAME". It is resolved when a task runs, so that a rotated secret is used, and never appears in an error or a log.
type secretText string

// split returns the fixed part in front and the reference, "" if there is none.
func (s secretText) split() (front, ref string) {
	at := strings.LastIndexByte(string(s), ' ') + 1
	last := string(s)[at:]
	if strings.HasPrefix(last, "env:") || strings.HasPrefix(last, "file:") {
		return string(s)[:at], last
	}
	return string(s), ""
}

// check finds references that can never be resolved.
func (s secretText) check() error {
	_, ref := s.split()
	kind, name, _ := strings.Cut(ref, ":")
	switch {
	case ref == "":
		return nil
	case name == "":
		return fmt.Errorf("the reference %q names nothing", ref)
	case kind == "file" && !strings.HasPrefix(name, "/"):
		return fmt.Errorf("the reference %q is not an absolute path", ref)
	}
	return nil
}

// checkReference finds what is no reference, and does not repeat it: it may be the secret itself.
func (s secretText) checkReference(f *faults, path string) {
	const hint = "env:NAME or file:/absolute/path"
	if front, ref := s.split(); front != "" || ref == "" {
		f.add(path, hint, "it is no reference to a secret")
	} else if err := s.check(); err != nil {
		f.add(path, hint, "%w", err)
	}
}

// name is the reference, and for a value in the definition itself no more than that.
func (s secretText) name() string {
	if _, ref := s.split(); ref != "" {
		return ref
	}
	return "the text"
}

// resolve returns the value with the secret in it.
func (s secretText) resolve() (string, error) { return s.resolveUpTo(maxSecret) }

func (s secretText) resolveUpTo(most int) (string, error) {
	front, ref := s.split()
	if ref == "" {
		return front, nil
	}
	value, err := readSecret(ref, most)
	if err != nil {
		return "", fmt.Errorf("read secret %s: %w", ref, err)
	}
	return front + value, nil
}

func readSecret(ref string, most int) (string, error) {
	kind, name, _ := strings.Cut(ref, ":")
	if kind == "env" {
		v, ok := os.LookupEnv(name)
		if !ok {
			return "", errors.New("the variable is not set")
		}
		return v, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("not a regular file") // a named pipe would block
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err != nil {
		return "", err
	}
	if len(b) > most {
		return "", fmt.Errorf("longer than %d bytes", most)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

// login are the fields of a check for HTTP basic authentication.
type login struct {
	User     secretText `json:"user"`     // may be env:NAME or file:/path
	Password secretText `json:"password"` // env:NAME or file:/path
}

func (l login) check(f *faults, headers map[string]secretText) {
	const whole = "set user and password, or neither"
	switch {
	case l == login{}:
		return
	case l.User == "":
		f.add("user", whole, "missing")
	case l.Password == "":
		f.add("password", whole, "missing")
	}
	if err := l.User.check(); err != nil {
		f.add("user", "env:NAME or file:/absolute/path", "%w", err)
	} else if front, ref := l.User.split(); front != "" && ref != "" || ref == "" && checkUser(front) != nil {
		f.add("user", "a name without a colon, env:NAME or file:/absolute/path", "no user has this name")
	}
	if l.Password != "" {
		l.Password.checkReference(f, "password")
	}
	for name := range headers { // order-free: at most one fault
		if strings.EqualFold(name, "Authorization") {
			f.add("user", "leave out one of them", "headers has an Authorization, too")
			return
		}
	}
}

// checkUser refuses names that another user and password could have.
func checkUser(name string) error {
	if strings.ContainsFunc(name, func(r rune) bool { return r == ':' || r < ' ' || r == 0x7f }) {
		return errors.New("the name has a colon or a control character")
	}
	return nil
}

// put puts user and password into a request.
func (l login) put(req *http.Request) error {
	if l == (login{}) {
		return nil
	}
	user, err := l.User.resolve()
	if err == nil {
		err = checkUser(user)
	}
	if err != nil {
		return fmt.Errorf("config.user: %w", err)
	}
	password, err := l.Password.resolve()
	if err != nil {
		return fmt.Errorf("config.password: %w", err)
	}
	req.SetBasicAuth(user, password)
	return nil
}

// origins shows the client certificate to the origin of the first URL alone, and no more once a redirect led elsewhere.
type origins struct {
	first      *url.URL
	own, other http.RoundTripper
}

func (o origins) RoundTrip(req *http.Request) (*http.Response, error) {
	for r := req; ; r = r.Response.Request {
		if !sameOrigin(r.URL, o.first) {
			return o.other.RoundTrip(req)
		}
		if r.Response == nil {
			return o.own.RoundTrip(req)
		}
	}
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }
