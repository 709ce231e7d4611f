package tasks

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/rota-run/rota/internal/flow"
	"github.com/rota-run/rota/internal/work/stage"
	"github.com/rota-run/rota/work"
)

// linesConfig of files.lines.
type linesConfig struct {
	Paths []string `json:"paths"`          // absolute, with * ? [ ] as in a shell; files that appear during the read may be missed
	JSON  bool     `json:"json,omitempty"` // each line is a segment as it is, instead of a text
}

// The bounds of one read, and of reads.
const (
	linesOfRead = 500
	bytesOfRead = 256 << 10
	longestLine = 512 << 10
	linesAhead  = 16 // reads before what they gave is stored
)

// linesRunner puts out the lines of files, once.
type linesRunner struct {
	places []tailPlace
	json   bool
}

func (o Options) filesLines() work.Type {
	return work.Type{
		Name: "files.lines", Doc: "the lines of files, as segments of a flow: each a JSON text",
		Segments: &work.Segments{Out: work.AnySegments},
		New: typed(func(c linesConfig, _ work.Definition, f *faults) work.Runner {
			r := &linesRunner{json: c.JSON}
			if len(c.Paths) == 0 {
				f.add("paths", `such as ["/tmp/text/*.txt"]`, "missing")
			}
			for i, p := range c.Paths {
				r.places = append(r.places, o.readable(p, i, "/tmp/text/*.txt", false, f))
			}
			return stage.Input{Read: r.read, Ahead: linesAhead}
		}),
	}
}

// readable is the place of a pattern, one of paths, that a member lets its tasks read.
func (o Options) readable(p string, i int, example string, links bool, f *faults) tailPlace {
	path := fmt.Sprintf("paths[%d]", i)
	if !filepath.IsAbs(p) {
		f.add(path, "write the whole path, such as "+example, "%q is not an absolute path", p)
		return tailPlace{}
	}
	if _, err := filepath.Match(p, ""); err != nil {
		f.add(path, `put a backslash before [`, "%q is not a pattern", p)
		return tailPlace{}
	}
	place, err := o.place(p, links)
	if err != nil {
		f.add(path, "start the members with --allow-tail "+filepath.Dir(p), "%w", err)
	}
	return place
}

// linesMark is how far the lines were read.
type linesMark struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
}

func (r *linesRunner) read(_ context.Context, g *work.Grant, at []byte,
	out *stage.Out) (next []byte, end bool, err error) {
	var m linesMark
	if len(at) > 0 {
		if err := json.Unmarshal(at, &m); err != nil {
			return nil, false, fmt.Errorf("read the position: %w", err)
		}
	}
	files := r.files(g)
	if len(files) == 0 && m.File == "" && g.Index == 0 && g.Count == 1 {
		return nil, false, errors.New("no file matches paths: check them, or wait until there are some")
	}
	at0, found := slices.BinarySearchFunc(files, m.File,
		func(f tailFound, name string) int { return strings.Compare(f.path, name) })
	if !found {
		m.Offset = 0
	}
	for _, f := range files[at0:] {
		if m.File != f.path {
			m = linesMark{File: f.path}
		}
		full, err := r.readLines(f, &m.Offset, out)
		if err != nil {
			return nil, false, fmt.Errorf("read %s: %w", f.path, err)
		}
		if full {
			next, err := json.Marshal(m)
			return next, false, err
		}
		m.File += "\x00" // behind it: the next one begins at its beginning
	}
	return nil, true, nil
}

// files are those of this part, sorted.
func (r *linesRunner) files(g *work.Grant) (out []tailFound) {
	left := tailMostNames
	for _, p := range r.places {
		for _, f := range p.files(&left) {
			if !f.link && flow.ShardOf(f.path, int(max(g.Count, 1))) == int(g.Index) {
				out = append(out, f)
			}
		}
	}
	return eachOnce(out)
}

// readLines puts out lines from an offset on, which it moves, until the file ends or there are enough; then full.
func (r *linesRunner) readLines(f tailFound, offset *int64, out *stage.Out) (full bool, err error) {
	root, err := os.OpenRoot(f.root)
	if err != nil {
		return false, err
	}
	defer root.Close()
	file, err := root.Open(f.rel)
	if err != nil {
		return false, err
	}
	defer file.Close()
	if _, err := file.Seek(*offset, io.SeekStart); err != nil {
		return false, err
	}
	lines := bufio.NewReaderSize(file, longestLine)
	for n, size := 0, 0; ; n++ {
		if n >= linesOfRead || size >= bytesOfRead {
			return true, nil
		}
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return false, fmt.Errorf("the line at byte %d has more than %d bytes", *offset, longestLine)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if len(line) == 0 {
			return false, nil
		}
		segment, err := r.segment(strings.TrimRight(string(line), "\r\n"))
		if err != nil {
			return false, fmt.Errorf("the line at byte %d: %w", *offset, err)
		}
		*offset += int64(len(line))
		size += len(line)
		if err := out.Send(segment, nil); err != nil {
			return false, err
		}
	}
}

// segment is what a line is in a flow.
func (r *linesRunner) segment(line string) ([]byte, error) {
	if !r.json {
		return json.Marshal(strings.ToValidUTF8(line, "\uFFFD"))
	}
	if !json.Valid([]byte(line)) {
		return nil, fmt.Errorf("%.60q is no JSON", line)
	}
	return []byte(line), nil
}

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
