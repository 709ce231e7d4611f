package stores

import (
	"context"
	"strings"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
)

// directory is what a URL file:DIR says.
type directory struct {
	path   string
	shared bool // others than its owner may enter it
}

// sharedQuery allows a directory that others may enter. It is part of the URL and not an option: then no program can forget it.
const sharedQuery = "shared=yes"

// parseDirectory reads what follows "file:".
func parseDirectory(rest string) (directory, error) {
	path, query, has := strings.Cut(strings.TrimPrefix(rest, "//"), "?")
	switch {
	case path == "":
		return directory{}, wrong([]string{"file:./rota-data"}, "store file: needs a directory")
	case has && query != sharedQuery:
		return directory{}, wrong([]string{"'file:" + path + "?" + sharedQuery + "'"}, "store file:%s: after ? it takes only %s, not %q", path, sharedQuery, query)
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
	s, err := file.Open(ctx, d.path+p.Beside, file.Options{MustExist: p.Access != Create, ReadOnly: p.Access == Look, AllowShared: d.shared})
	if err != nil {
		return nil, err
	}
	return s, nil
}
