package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/rota-run/rota"
)

// config is what all processes are told through the job.
type config struct{ In, Out string }

// everyFile is the partition that lists. No file can have its name.
const everyFile = "./"

// sums is the task type. It tells out of each file that it begins and has done.
func sums(out io.Writer) rota.Type {
	return rota.NewPartitioner("sums", rota.Partitioner[config]{
		Window: 256, MaxConcurrent: 8,
		List: func(_ context.Context, g *rota.Grant, c config, cursor []byte, limit int) (rota.Page, error) {
			fmt.Fprintf(out, "list %q\n", cursor)
			return list(c.In, string(cursor), limit)
		},
		Run: func(ctx context.Context, g *rota.Grant, c config) error {
			name := string(g.Input)
			fmt.Fprintf(out, "begin %q %d\n", name, g.Token)
			err := sum(ctx, g, c, name)
			if err == nil {
				fmt.Fprintf(out, "done %q %d\n", name, g.Token)
			}
			return err
		},
	})
}

// list gives the files behind a name, in the order of their names. A name may be anything but a key may not: it is
// escaped.
func list(dir, behind string, limit int) (p rota.Page, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return p, err
	}
	p = rota.Page{Cursor: []byte(behind), End: true}
	for _, e := range entries {
		switch {
		case e.Name() <= behind || !e.Type().IsRegular():
		case len(p.Items) == limit:
			p.End = false
			return p, nil
		default:
			p.Items = append(p.Items, rota.Item{Key: url.PathEscape(e.Name()), Input: []byte(e.Name())})
			p.Cursor = []byte(e.Name())
		}
	}
	return p, nil
}

// sum writes the result of one file. A file that has gone has none.
func sum(ctx context.Context, g *rota.Grant, c config, name string) error {
	in, err := os.Open(filepath.Join(c.In, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return result{dir: c.Out, name: name, token: uint64(g.Token), valid: g.Valid}.write(hex.EncodeToString(h.Sum(nil)))
}

// result is one file of the output: "sum token".
type result struct {
	dir, name string
	token     uint64
	valid     func() bool
}

var errOld = errors.New("a newer owner has written the result")

// write puts the result in its place in one step. It is fenced twice: nothing is written over the result of a newer
// token, and nothing by who has lost its grant meanwhile.
func (r result) write(sum string) error {
	path := filepath.Join(r.dir, r.name+".sha256")
	temporary := fmt.Sprintf("%s.%d.part", path, r.token)
	if err := os.WriteFile(temporary, fmt.Appendf(nil, "%s %d\n", sum, r.token), 0o644); err != nil {
		return err
	}
	was, err := tokenIn(path)
	switch {
	case err != nil:
	case was > r.token:
		err = errOld
	case !r.valid():
		err = errors.New("the grant has ended")
	default:
		return os.Rename(temporary, path)
	}
	return errors.Join(err, os.Remove(temporary))
}

// tokenIn is the token under which a result was written, 0 where there is none.
func tokenIn(path string) (token uint64, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err == nil {
		var sum string
		_, err = fmt.Fscan(strings.NewReader(string(data)), &sum, &token)
	}
	return token, err
}
