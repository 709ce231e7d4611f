package storeurl

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Scheme is one kind of store that is reached over a network.
type Scheme struct {
	Name string // "etcd"
	Port string // where a host names none
	// Keys are the parameters that it takes beside those that all take. With "schema" among them the path is a
	// database, and the place of a cluster is a schema in it, which that parameter names, or a second part of the path.
	Keys []string
	// UserAtHost lets the user, without a password, stand before the hosts: user@host. People write it so for this
	// store.
	UserAtHost bool
	// Sink says that it takes samples: it is no store, its path may be empty, and its Keys may be any. Their values are
	// in Extra.
	Sink bool
}

// URL is where a store is, and how to be let in.
type URL struct {
	Scheme string
	Hosts  []string // host:port, at least one
	Path   string   // without slashes at its ends; never empty
	// User and the secrets; "" where none is given. They are never part of String.
	User, Password, Token string
	// TLS is nil where the connection is not encrypted.
	TLS *tls.Config
	// Timeout bounds the first contact; 0: the store's own default.
	Timeout time.Duration
	// Session is the time after which a server forgets a silent connection; 0: the store's own default.
	Session time.Duration
	// Replicas is on how many servers what is written must lie; 0: the store's own default.
	Replicas int
	// Mechanism is how a user logs in, where a server knows several; "": the store's own default.
	Mechanism string
	// Credentials is a file that holds a secret and is read by the store's own client.
	Credentials string
	// Schema is the place of the cluster in the database that Path names; "" where Path is the place.
	Schema string
	// Extra is what else a sink takes: no secrets.
	Extra map[string]string
}

// DefaultPath is used where a URL names none.
const DefaultPath = "rota"

// common are the parameters that every server takes.
var common = []string{"user", "password", "tls", "ca", "cert", "key", "server-name", "timeout"}

// Parse reads the URL of a server. Secrets that it names are fetched from the environment and from files.
func Parse(text string, kind Scheme, getenv func(string) string) (URL, error) {
	u, err := read(text, kind, getenv)
	if err != nil {
		what := "store"
		if kind.Sink {
			what = "publish"
		}
		return URL{}, fmt.Errorf("%s %s: %w", what, Hide(text), err)
	}
	return u, nil
}

func read(text string, kind Scheme, getenv func(string) string) (URL, error) {
	// net/url takes one host only, so it reads the rest.
	authority, rest, ok := cutAuthority(text, kind.Name)
	u, err := url.Parse(rest)
	if !ok || err != nil || u.Fragment != "" {
		return URL{}, fmt.Errorf("not a URL: write %s", kind.Example())
	}
	out := URL{Scheme: kind.Name, Extra: map[string]string{}}
	if out.User, authority, ok = cutUser(authority); !ok || out.User != "" && !kind.UserAtHost || strayAt(rest) {
		return URL{}, errBeforeAt
	}
	path := strings.Trim(u.Path, "/")
	if slices.Contains(kind.Keys, "schema") {
		path, out.Schema, _ = strings.Cut(path, "/")
	}
	if out.Hosts, err = hosts(authority, kind); err != nil {
		if strings.Contains(rest, "@") { // perhaps it is half of a password
			err = errBeforeAt
		}
		return URL{}, err
	}
	if path != "" || !kind.Sink {
		if out.Path, err = place(path); err != nil {
			return URL{}, err
		}
	}
	if err := out.parameters(u.RawQuery, kind, getenv); err != nil {
		return URL{}, asParameter(err)
	}
	if slices.Contains(kind.Keys, "schema") {
		if out.Schema, err = place(out.Schema); err != nil {
			return URL{}, fmt.Errorf("schema: %w", err)
		}
	}
	return out, nil
}

var errBeforeAt = errors.New("what stands before the @ is seen by everyone: write ?user=NAME&password=env:NAME_OF_A_VARIABLE")

// strayAt reports whether what follows the hosts has an @ that is in no value: it ends a password with a slash or a
// question mark in it.
func strayAt(rest string) bool {
	before, _, found := strings.Cut(rest, "@")
	return found && !strings.Contains(before, "=")
}

// cutAuthority splits "scheme://hosts/path?query" into hosts and the rest, which begins with a slash or a question
// mark, or is empty.
func cutAuthority(text, scheme string) (authority, rest string, ok bool) {
	text, ok = strings.CutPrefix(text, scheme+"://")
	if i := strings.IndexAny(text, "/?#"); i >= 0 {
		return text[:i], text[i:], ok
	}
	return text, "", ok
}

// cutUser splits "user@hosts"; it refuses what may hold a password.
func cutUser(authority string) (user, hosts string, ok bool) {
	user, hosts, found := strings.Cut(authority, "@")
	if !found {
		return "", authority, true
	}
	return user, hosts, isHost(user) && !strings.ContainsAny(user+hosts, "@%") && !strings.Contains(user, ":")
}

// Example is a URL of this kind.
func (k Scheme) Example() string {
	if k.Sink {
		return k.Name + "://127.0.0.1:" + k.Port
	}
	return k.Name + "://127.0.0.1:" + k.Port + "/" + DefaultPath
}

// String is the URL without its parameters. A schema stands behind the database.
func (u URL) String() string {
	text := strings.Join(u.Hosts, ",") + "/" + u.Path
	if u.Schema != "" {
		text += "/" + u.Schema
		if u.User != "" {
			text = u.User + "@" + text
		}
	}
	return u.Scheme + "://" + text
}

// Beside is the URL of another place in the same store.
func (u URL) Beside(suffix string) URL {
	if u.Schema != "" {
		u.Schema += suffix
		return u
	}
	u.Path += suffix
	return u
}

// hosts splits "a,b:1" and adds the port where it is missing.
func hosts(text string, kind Scheme) ([]string, error) {
	if text == "" {
		return nil, fmt.Errorf("no host: write %s", kind.Example())
	}
	var out []string
	for h := range strings.SplitSeq(text, ",") {
		if h == kind.Name+":" { // what was cut from another kind.Name://
			return nil, fmt.Errorf("%s:// stands there twice: write it once, and all hosts behind it", kind.Name)
		}
		host, port, err := net.SplitHostPort(h)
		if err != nil {
			host, port = h, kind.Port
			if inner, ok := strings.CutPrefix(h, "["); ok {
				host = strings.TrimSuffix(inner, "]")
			} else if strings.Contains(h, ":") {
				host = "" // an address, or an address and a port: nobody can tell
			}
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || !isHost(host) {
			return nil, fmt.Errorf("host %q: write HOST or HOST:PORT, more of them separated by commas, and an IPv6 address in brackets", h)
		}
		h = net.JoinHostPort(host, port)
		if slices.Contains(out, h) {
			return nil, fmt.Errorf("host %q stands there twice", h)
		}
		out = append(out, h)
	}
	return out, nil
}

// isHost tells whether text is a name or an address.
func isHost(text string) bool {
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Zone() == "" || isHost(a.Zone())
	}
	return text != "" && strings.IndexFunc(text,
		func(r rune) bool { return !letterOrDigit(r) && !strings.ContainsRune("._-", r) }) < 0
}

func letterOrDigit(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// longest a path may be: it is part of every key.
const longest = 100

// place checks what names the cluster's place: every store can take it as a name.
func place(path string) (string, error) {
	if path == "" {
		return DefaultPath, nil
	}
	if len(path) > longest {
		return "", fmt.Errorf("path %.20q… has %d bytes: at most %d are allowed", path, len(path), longest)
	}
	for s := range strings.SplitSeq(path, "/") {
		if s == "" || s == "." || s == ".." {
			return "", fmt.Errorf("path %q has a part %q: write names separated by single slashes", path, s)
		}
	}
	i := strings.IndexFunc(path, func(r rune) bool { return !letterOrDigit(r) && !strings.ContainsRune("/._-", r) })
	if i >= 0 {
		return "", fmt.Errorf("path %q: %q is not allowed: use letters, digits, . _ - and slashes between names", path,
			path[i:i+1])
	}
	return path, nil
}

// Hide removes what may be a secret from the text of a store: what stands before an @, and what follows a question
// mark.
func Hide(text string) string {
	scheme, _, _ := strings.Cut(text, ":")
	shown, hidden, _ := strings.Cut(text, "?")
	if strings.Contains(hidden, "@") && strings.Contains(text, "://") { // the question mark may be in a password
		return scheme + "://***"
	}
	at := strings.LastIndex(shown, "@")
	if at < 0 {
		return shown
	}
	return scheme + "://***" + shown[at:]
}
