package tasks

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tailMostNames bounds the names that one scan looks at.
const tailMostNames = 100_000

// tailPlace is where files may be: a pattern below a directory that the member allows. Nothing outside of it is opened, whatever links and
// renames say: all goes through an os.Root.
type tailPlace struct {
	root  string
	steps []string // of the pattern, below root
	links bool     // follow those that stay below root
}

// tailFound is a regular file in a place, or a link that is not followed.
type tailFound struct {
	path, root, rel string
	info            fs.FileInfo
	link            bool
}

// tailRoots are the directories that are allowed where the member names none.
func (o Options) tailRoots() []string {
	if len(o.TailAllow) > 0 {
		return o.TailAllow
	}
	return []string{"/var/log", "/tmp"}
}

// place finds the allowed directory of a pattern, or of a path.
func (o Options) place(pattern string, links bool) (tailPlace, error) {
	steps := strings.Split(strings.TrimPrefix(pattern, "/"), "/")
	for _, s := range steps {
		if s == "" || s == "." || s == ".." {
			return tailPlace{}, fmt.Errorf("%q is not a plain path: it has empty steps, . or ..", pattern)
		}
	}
	if slices.Contains([]string{"proc", "sys", "dev"}, steps[0]) {
		return tailPlace{}, fmt.Errorf("%q is in /%s, which holds no log files", pattern, steps[0])
	}
	for _, root := range o.tailRoots() {
		root = filepath.Clean(root)
		if rel, ok := strings.CutPrefix(pattern, strings.TrimSuffix(root, "/")+"/"); ok {
			return tailPlace{root: root, steps: strings.Split(rel, "/"), links: links}, nil
		}
	}
	return tailPlace{}, fmt.Errorf("this member lets tasks read below %s only", strings.Join(o.tailRoots(), ", "))
}

// beside is the place of all files in the directory of a path whose place p is.
func (p tailPlace) beside() tailPlace {
	escape := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)
	for i, s := range p.steps {
		p.steps[i] = escape.Replace(s)
	}
	p.steps[len(p.steps)-1] = "*"
	return p
}

// files are those that match now. left is how many names may be looked at; it is counted down, below 0 where there were more.
func (p tailPlace) files(left *int) []tailFound {
	root, err := os.OpenRoot(p.root)
	if err != nil {
		return nil // it may come later
	}
	defer root.Close()
	var out []tailFound
	p.walk(root, "", p.steps, left, func(f tailFound) {
		f.path, f.root = filepath.Join(p.root, f.rel), p.root
		out = append(out, f)
	})
	return out
}

func (p tailPlace) walk(root *os.Root, dir string, steps []string, left *int, found func(tailFound)) {
	for _, name := range namesIn(root, dir, steps[0], left) {
		rel := filepath.Join(dir, name)
		info, err := root.Lstat(rel)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			if !p.links {
				found(tailFound{rel: rel, link: true})
				continue
			}
			info, err = root.Stat(rel) // an error where it leads out of the root
		}
		switch {
		case err != nil:
		case len(steps) > 1 && info.IsDir():
			p.walk(root, rel, steps[1:], left, found)
		case len(steps) == 1 && info.Mode().IsRegular():
			found(tailFound{rel: rel, info: info})
		}
	}
}

// namesIn are the names in a directory that match one step of a pattern.
func namesIn(root *os.Root, dir, step string, left *int) []string {
	if !strings.ContainsAny(step, `*?[\`) {
		*left--
		return []string{step}
	}
	f, err := root.Open(filepath.Join(".", dir))
	if err != nil {
		return nil
	}
	defer f.Close()
	var out []string
	for *left >= 0 && err == nil {
		var names []string
		names, err = f.Readdirnames(1000)
		*left -= len(names)
		for _, name := range names {
			if ok, _ := filepath.Match(step, name); ok { // the pattern was checked
				out = append(out, name)
			}
		}
	}
	return out
}

// open opens the file that was found, or says that another one has taken its place.
func (f tailFound) open() (*tailFile, error) {
	root, err := os.OpenRoot(f.root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.OpenFile(f.rel, tailOpenFlags, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular() || !os.SameFile(info, f.info):
		err = fmt.Errorf("open %s: another file has taken its place: %w", f.path, fs.ErrNotExist) // the next scan sees it
	case ofTheKernel(file):
		err = fmt.Errorf("%s is no file on a disk", f.path)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return followed(f.path, file, info), nil
}
