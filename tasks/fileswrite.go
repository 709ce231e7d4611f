package tasks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/rota-run/rota/internal/work/stage"
	"github.com/rota-run/rota/work"
)

// writeConfig of files.write.
type writeConfig struct {
	// Dir gets a file for each batch of segments, one segment on each line. A file that is written again has the same
	// content and replaces the first, so each segment is there once. "done" appears when everything is written.
	Dir string `json:"dir"`
}

// doneName is the file that says that all segments were written.
const doneName = "done"

func (o Options) filesWrite() work.Type {
	return work.Type{
		Name: "files.write", Doc: "writes the segments of a flow into files, one on each line",
		Segments: &work.Segments{In: work.AnySegments},
		New: typed(func(c writeConfig, _ work.Definition, f *faults) work.Runner {
			root, rel := o.writable(c.Dir, f)
			w := filesWriter{root, rel}
			return stage.Stage{Attempts: stage.Always, Do: w.write, Seal: w.seal}
		}),
	}
}

// writable finds the allowed directory that a path is in.
func (o Options) writable(dir string, f *faults) (root, rel string) {
	switch {
	case dir == "":
		f.add("dir", "such as /var/lib/counts", "missing")
		return "", ""
	case !filepath.IsAbs(dir) || filepath.Clean(dir) != dir:
		f.add("dir", "write the whole path, without .. and without a slash at its end",
			"%q is not a plain absolute path", dir)
		return "", ""
	}
	for _, allowed := range o.WriteAllow {
		allowed = filepath.Clean(allowed)
		if rel, ok := strings.CutPrefix(dir+"/", strings.TrimSuffix(allowed, "/")+"/"); ok {
			return allowed, strings.TrimSuffix(rel, "/")
		}
	}
	f.add("dir", "start the members with --allow-write "+filepath.Dir(dir),
		"%q is in no directory that this member lets tasks write to", dir)
	return "", ""
}

// filesWriter writes below a directory that is allowed; no link leads out of it.
type filesWriter struct{ root, dir string }

func (w filesWriter) write(ctx context.Context, g *work.Grant, in [][]byte, _ *stage.Out) error {
	return w.put(g, stage.BatchName(ctx)+".jsonl", append(bytes.Join(in, []byte("\n")), '\n'))
}

func (w filesWriter) seal(_ context.Context, g *work.Grant) error { return w.put(g, doneName, nil) }

// put makes a file appear whole.
func (w filesWriter) put(g *work.Grant, name string, data []byte) error {
	root, err := os.OpenRoot(w.root)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Join(".", w.dir), 0o750); err != nil {
		return err
	}
	onTheWay := filepath.Join(w.dir, fmt.Sprintf(".%s.%d.%s", strings.ReplaceAll(g.Key, ":", "-"), g.Token, name))
	file, err := root.OpenFile(onTheWay, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, root.Remove(onTheWay))
	}
	if err := root.Rename(onTheWay, filepath.Join(w.dir, name)); err != nil {
		return err
	}
	return syncDir(root, filepath.Join(".", w.dir))
}

// syncDir makes the names in a directory survive a power cut: what was written is acknowledged next. Windows does that
// by itself, and some file systems of a network cannot.
func syncDir(root *os.Root, name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := root.Open(name)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
