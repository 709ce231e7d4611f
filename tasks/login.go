package tasks

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

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
