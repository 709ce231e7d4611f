package stores

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/rota-run/rota/internal/safetext"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
	"github.com/rota-run/rota/store/memory"
)

// Access is what a program wants to do with a store.
type Access uint8

// The kinds of access.
const (
	Create Access = iota // all, and make the place if it is not there: what a member needs
	Change               // all, at a place that must be there
	Look                 // read only; it must be there
)

// Options of [Open]. The zero value is that of a member.
type Options struct {
	Access Access
	// Beside, if not "", is added to the place that the URL names, to use another place beside it.
	Beside string
	// Kinds are additional stores. One with the scheme of a built-in store replaces it.
	Kinds []Kind
	// Getenv finds the secrets that a URL names as env:NAME; default os.Getenv.
	Getenv func(name string) string
}

// Kind is a kind of store.
type Kind struct {
	Scheme  string // what is before the first colon of its URLs
	Example string // such a URL
	Open    func(ctx context.Context, p Place) (store.Full, error)
}

// Place is what a kind of store gets to open.
type Place struct {
	URL    string // as the user wrote it
	Access Access
	Beside string // see Options
}

// Error is what is wrong with a URL.
type Error struct {
	Err     error
	Instead []string // URLs that would do; may be empty
}

// Error implements error.
func (e *Error) Error() string {
	if len(e.Instead) == 0 {
		return e.Err.Error()
	}
	return e.Err.Error() + ": write " + strings.Join(e.Instead, " or ")
}

// Unwrap returns the error without what to write instead.
func (e *Error) Unwrap() error { return e.Err }

// OpenError is why a server could not be used.
type OpenError struct {
	Place string // the URL without its parameters
	Err   error
}

// Error implements error.
func (e *OpenError) Error() string { return e.Err.Error() }

// Unwrap returns what the store said.
func (e *OpenError) Unwrap() error { return e.Err }

// Open opens the store that a URL names. The caller closes it.
func Open(ctx context.Context, url string, o Options) (store.Full, error) {
	k, err := o.kind(url)
	if err != nil {
		return nil, err
	}
	return k.Open(ctx, Place{URL: url, Access: o.Access, Beside: o.Beside})
}

// Check says what is wrong with a URL and can be found without opening anything. It knows nothing of the URLs of
// Options.Kinds but their schemes.
func Check(url string, o Options) error {
	if _, err := o.kind(url); err != nil {
		return err
	}
	switch scheme, rest, _ := strings.Cut(url, ":"); scheme {
	case "file":
		_, err := parseDirectory(rest)
		return err
	case "memory":
		return checkMemory(rest)
	default:
		return checkServer(url, o.getenv())
	}
}

// Examples are URLs, one of each kind.
func Examples(o Options) []string {
	var out []string
	for _, k := range o.kinds() {
		out = append(out, k.Example)
	}
	return out
}

func (o Options) getenv() func(string) string {
	if o.Getenv == nil {
		return os.Getenv
	}
	return o.Getenv
}

// kinds are all stores. Those of Options.Kinds come last, and are found first.
func (o Options) kinds() []Kind {
	ours := append([]Kind{{"file", "file:./rota-data", openFile}, {"memory", "memory:", openMemory}},
		serverKinds(o.getenv())...)
	return append(ours, o.Kinds...)
}

func (o Options) kind(url string) (Kind, error) {
	scheme, _, ok := strings.Cut(url, ":")
	kinds := o.kinds()
	for i := len(kinds) - 1; i >= 0 && ok; i-- {
		if kinds[i].Scheme == scheme {
			return kinds[i], nil
		}
	}
	if url == "" {
		return Kind{}, wrong([]string{kinds[0].Example}, "no store: where do the members meet?")
	}
	near, found := safetext.Nearest(scheme, schemes(kinds))
	if !ok && (!found || strings.ContainsAny(url, "./")) {
		dir := storeurl.Hide(url)
		return Kind{}, wrong([]string{"file:" + dir}, "store %q: it has no kind, did you mean file:%s?", dir, dir)
	}
	if found {
		i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Scheme == near })
		return Kind{}, wrong([]string{kinds[i].Example}, "store %q: unknown kind, did you mean %s", storeurl.Hide(url),
			near)
	}
	return Kind{}, wrong(Examples(o), "store %q: unknown kind", storeurl.Hide(url))
}

func schemes(kinds []Kind) (out []string) {
	for _, k := range kinds {
		out = append(out, k.Scheme)
	}
	return out
}

// wrong is an error of who wrote the URL.
func wrong(instead []string, format string, args ...any) error {
	return &Error{Err: fmt.Errorf(format, args...), Instead: instead}
}

func checkMemory(rest string) error {
	if rest != "" {
		return wrong([]string{"memory:"}, "store memory: takes nothing behind the colon")
	}
	return nil
}

func openMemory(_ context.Context, p Place) (store.Full, error) {
	if err := checkMemory(strings.TrimPrefix(p.URL, "memory:")); err != nil {
		return nil, err
	}
	if p.Access != Create {
		return nil, wrong([]string{"file:./rota-data"},
			"store memory: is inside one process: another one cannot look at it")
	}
	return memory.New().Open(), nil
}

// directory is what a URL file:DIR says.
type directory struct {
	path   string
	shared bool // others than its owner may enter it
}

// sharedQuery allows a directory that others may enter. It is part of the URL and not an option: then no program can
// forget it.
const sharedQuery = "shared=yes"

// parseDirectory reads what follows "file:".
func parseDirectory(rest string) (directory, error) {
	path, query, has := strings.Cut(strings.TrimPrefix(rest, "//"), "?")
	switch {
	case path == "":
		return directory{}, wrong([]string{"file:./rota-data"}, "store file: needs a directory")
	case has && query != sharedQuery:
		return directory{}, wrong([]string{"'file:" + path + "?" + sharedQuery + "'"},
			"store file:%s: after ? it takes only %s, not %q", path, sharedQuery, query)
	}
	return directory{path: path, shared: has}, nil
}

// Directory is the directory that a URL file:DIR names; "" for a URL of another kind.
func Directory(url string) (string, error) {
	rest, ok := strings.CutPrefix(url, "file:")
	if !ok {
		return "", nil
	}
	d, err := parseDirectory(rest)
	return d.path, err
}

func openFile(ctx context.Context, p Place) (store.Full, error) {
	d, err := parseDirectory(strings.TrimPrefix(p.URL, "file:"))
	if err != nil {
		return nil, err
	}
	return opened(file.Open(ctx, d.path+p.Beside, file.Options{MustExist: p.Access != Create,
		ReadOnly: p.Access == Look, AllowShared: d.shared}))
}
