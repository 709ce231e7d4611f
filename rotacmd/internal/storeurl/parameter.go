package storeurl

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// parameters reads what follows the question mark.
func (u *URL) parameters(query string, kind Scheme, getenv func(string) string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("what follows the ? is not KEY=VALUE&KEY=VALUE")
	}
	known := slices.Sorted(slices.Values(append(slices.Clone(common), kind.Keys...)))
	t := &tlsFiles{}
	keys := make([]string, 0, len(values))
	for k := range values {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
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
