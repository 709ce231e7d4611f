package main

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/rota-run/rota/cmd/rota/internal/storeurl"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/tasks"
	"github.com/rota-run/rota/tasks/program"
	"github.com/rota-run/rota/work"
)

// This file and servers.go are the only table of stores, sinks and task types.

// access is what a command wants to do with a store.
type access uint8

const (
	look   access = iota // read; must exist
	change               // append; must exist
	member               // all; made if it is not there
)

type storeKind struct {
	scheme, example string
	open            func(ctx context.Context, at storePlace, a access) (store.Full, error)
}

// storePlace is where a store is: its text, and what the environment may add to it.
type storePlace struct {
	env
	text string // as the user wrote it
	rest string // what stands behind the scheme's colon
	// suffix names a place beside that of the cluster, for a check of the store.
	suffix string
}

func storeKinds() []storeKind {
	return append([]storeKind{
		{"file", "file:./rota-data", openFile},
		{"memory", "memory:", openMemory},
	}, serverKinds()...)
}

func openMemory(_ context.Context, at storePlace, a access) (store.Full, error) {
	if at.rest != "" {
		return nil, misused("--store memory:", "store memory: takes nothing behind the colon")
	}
	if a != member {
		return nil, misused("--store file:./rota-data", "store memory: is inside one process: another one cannot look at it")
	}
	return memory.New().Open(), nil
}

func openStore(ctx context.Context, e env, text string, a access) (store.Full, error) {
	return openBeside(ctx, e, text, "", a)
}

// openBeside opens the store at a place beside that of the cluster.
func openBeside(ctx context.Context, e env, text, suffix string, a access) (store.Full, error) {
	scheme, rest, _ := strings.Cut(text, ":")
	for _, k := range storeKinds() {
		if k.scheme == scheme && strings.Contains(text, ":") {
			return k.open(ctx, storePlace{env: e, text: text, rest: rest, suffix: suffix}, a)
		}
	}
	return nil, unknownStore(text)
}

// unknownStore is the error for a text that names no kind of store.
func unknownStore(text string) error {
	var known []string
	for _, k := range storeKinds() {
		known = append(known, k.example)
	}
	if text == "" {
		return misused("--store "+known[0], "no store: where do the members meet?")
	}
	return misused("--store "+strings.Join(known, " or --store "), "store %q: unknown kind", storeurl.Hide(text))
}

func openPublisher(text string, stdout io.Writer) (publish.Publisher, string, error) {
	kind, rest, _ := strings.Cut(text, ":")
	switch {
	case text == "stdout":
		return publish.NewWriter("stdout", stdout, publish.Options{}), "samples on stdout", nil
	case text == "none":
		return nil, "samples are dropped", nil
	case kind == "file" && rest != "":
		p, err := publish.NewFile(rest, publish.Options{})
		if err != nil {
			return nil, "", failed("another --publish", "%w", err)
		}
		return p, "samples in " + rest, nil
	}
	return nil, "", misused("--publish stdout, --publish file:PATH or --publish none", "publish %q: unknown sink", storeurl.Hide(text))
}

// allowed is what a member allows its tasks besides what is harmless: addresses, programs, their variables, directories of log files, and of what they write.
type allowed struct {
	net, exec, env, tail, write []string
	programs                    *program.Room // nil for the default
}

// typesOf is the table of task types under what the member allows.
func typesOf(a allowed, dev bool) (work.Types, error) {
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
	return tasks.Builtin(tasks.Options{
		AllowCIDRs: nets, ExecAllow: a.exec, EnvAllow: a.env, TailAllow: a.tail, WriteAllow: a.write, Programs: a.programs, Witness: dev,
	}), nil
}
