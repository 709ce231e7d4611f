package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/rota-run/rota/internal/plain"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/rotacmd/stores"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
	"github.com/rota-run/rota/tasks"
	"github.com/rota-run/rota/tasks/program"
	"github.com/rota-run/rota/work"
)

// What a command wants to do with a store.
const (
	look   = stores.Look   // read; must exist
	change = stores.Change // append; must exist
	member = stores.Create // all; made if it is not there
)

func openStore(ctx context.Context, e env, text string, a stores.Access) (store.Full, error) {
	return openBeside(ctx, e, text, "", a)
}

// openBeside opens the store at a place beside that of the cluster.
func openBeside(ctx context.Context, e env, text, suffix string, a stores.Access) (store.Full, error) {
	st, err := stores.Open(ctx, text, e.storeOptions(suffix, a))
	if err != nil {
		return nil, storeFault(text, suffix, a, err)
	}
	return st, nil
}

func (e env) storeOptions(suffix string, a stores.Access) stores.Options {
	return stores.Options{Access: a, Beside: suffix, Kinds: e.own.Stores, Getenv: e.getenv}
}

// storeFault adds to an error of a store what to try.
func storeFault(text, suffix string, a stores.Access, err error) error {
	scheme, _, _ := strings.Cut(text, ":")
	name := storeurl.Hide(text)
	var away *stores.OpenError
	if errors.As(err, &away) {
		name = away.Place
	}
	dir, wrongDir := stores.Directory(text)
	var wrong *stores.Error
	switch {
	case errors.As(err, &wrong):
		return misused("--store "+strings.Join(wrong.Instead, " or --store "), "%w", wrong.Err)
	case a != member && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, store.ErrNotFound)):
		return failed("rota run --store "+plain.Word(name)+" ./tasks", "%w", err)
	case errors.Is(err, file.ErrShared) && wrongDir == nil:
		return failed("chmod 700 "+dir+", or a new directory in it: --store file:"+dir+"/store; or --store 'file:"+dir+"?shared=yes"+
			"': then those who may write there can remove or replace the files of the cluster", "%w", err)
	case away == nil:
		return err
	case suffix != "": // a check of the store is what was just tried
		return failed("another address, or start the server there; docs/stores/"+scheme+".md says what the words mean", "%w", err)
	}
	return failed("rota store check "+plain.Word(name), "%w", err)
}

// allowed is what a member allows its tasks besides what is harmless: addresses, programs, their variables, directories of log files, and of what they write.
type allowed struct {
	net, exec, env, tail, write []string
	programs                    *program.Room // nil for the default
}

// typesOf is the table of task types under what the member allows.
func (e env) typesOf(a allowed, dev bool) (work.Types, error) {
	nets, err := tasks.ParseCIDRs(a.net)
	if err != nil {
		return nil, misused("--allow-net 10.0.0.0/8", "allow-net: %w", err)
	}
	for _, p := range a.exec {
		if !filepath.IsAbs(p) {
			return nil, misused("--allow-exec /usr/bin/"+filepath.Base(p), "allow-exec %q: it is not an absolute path", p)
		}
	}
	for _, dir := range a.tail {
		if !filepath.IsAbs(dir) {
			return nil, misused("--allow-tail /var/log/"+filepath.Base(dir), "allow-tail %q: it is not an absolute path", dir)
		}
	}
	for _, dir := range a.write {
		if !filepath.IsAbs(dir) {
			return nil, misused("--allow-write /var/lib/"+filepath.Base(dir), "allow-write %q: it is not an absolute path", dir)
		}
	}
	types := tasks.Builtin(tasks.Options{
		AllowCIDRs: nets, ExecAllow: a.exec, EnvAllow: a.env, TailAllow: a.tail, WriteAllow: a.write, Programs: a.programs, Witness: dev,
	})
	if err := e.own.check(types); err != nil {
		return nil, fmt.Errorf("this program: %w", err)
	}
	for _, t := range e.own.Types {
		types[t.Name] = t
	}
	return types, nil
}
