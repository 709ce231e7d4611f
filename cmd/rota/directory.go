package main

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
)

// fileStore is what the text of a store file:DIR says.
type fileStore struct {
	path   string
	shared bool // others than its owner may enter it
}

// sharedQuery allows a directory that others may enter. It is part of the store's name and not a flag: then no command can forget it.
const sharedQuery = "shared=yes"

// parseFileStore reads what stands after "file:".
func parseFileStore(rest string) (fileStore, error) {
	path, query, has := strings.Cut(strings.TrimPrefix(rest, "//"), "?")
	switch {
	case path == "":
		return fileStore{}, misused("--store file:./rota-data", "store file: needs a directory")
	case has && query != sharedQuery:
		return fileStore{}, misused("--store 'file:"+path+"?"+sharedQuery+"'", "store file:%s: after ? it takes only %s, not %q", path, sharedQuery, query)
	}
	return fileStore{path: path, shared: has}, nil
}

func openFile(ctx context.Context, at storePlace, a access) (store.Full, error) {
	dir, err := parseFileStore(at.rest)
	if err != nil {
		return nil, err
	}
	s, err := file.Open(ctx, dir.path+at.suffix, file.Options{MustExist: a != member, ReadOnly: a == look, AllowShared: dir.shared})
	switch {
	case errors.Is(err, fs.ErrNotExist) && a != member:
		return nil, failed("rota run --store file:"+dir.path+" ./tasks", "%w", err)
	case errors.Is(err, file.ErrShared):
		return nil, failed("chmod 700 "+dir.path+", or a new directory in it: --store file:"+dir.path+"/store; or --store 'file:"+dir.path+"?"+sharedQuery+
			"': then those who may write there can remove or replace the files of the cluster", "%w", err)
	case err != nil:
		return nil, err
	}
	return s, nil
}
