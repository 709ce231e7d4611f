package directory

import (
	"crypto/sha256"
	"io/fs"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/work"
)

// Cache has the contents of files that were read, so that several looks of one process at the same directories read and
// parse each file once.
type Cache struct {
	mu      sync.Mutex
	sources map[string]*contents
}

// NewCache returns an empty cache.
func NewCache() *Cache { return &Cache{sources: make(map[string]*contents)} }

// Scan is [ScanDirs] for a source that may also have files of a program; nil for none.
func (c *Cache) Scan(dirs []string, files fs.FS, name string, types work.Types) Scan {
	s := NewScanner(dirs, name, types)
	s.files, s.known = files, c.of(name)
	return s.Scan()
}

// of are the contents of a source; of no cache, those of one scanner alone.
func (c *Cache) of(name string) *contents {
	if c == nil {
		return newContents()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sources[name] == nil {
		c.sources[name] = newContents()
	}
	return c.sources[name]
}

// stamp is the state of a file, as far as the system says it.
type stamp struct {
	inode                   uint64
	size, modified, changed int64
	ok                      bool // it distinguishes contents
}

// parsed is a file whose content was read. There is one for each file: it is as small as it can be.
type parsed struct {
	*meaning
	path string // the same string for all scans

	stamp   stamp
	read    time.Duration // when the content was first read with this stamp, since the contents were made; zero for never
	settled bool          // it was read twice with this stamp, with a while between
}

// meaning is what a content means. Files with the same content share it.
type meaning struct {
	sum   contentSum
	spec  *cluster.JobSpec
	mark  string // Definition.Sum
	fault *source.MalformedError
}

// contentSum is the first half of the SHA-256 of a content.
type contentSum [sha256.Size / 2]byte

// settles is after how long a file is read once more: two writes within the resolution of a file system's clock (2 s on
// the coarsest) leave the same stamp, a later one does not. No clock of another machine is compared. It is long enough
// for all who look at 100,000 files at their start to read them once.
const settles = 15 * time.Second

// contents are what the files of a source mean, by path.
type contents struct {
	turn  sync.Mutex // held during a scan: the next one finds what this one has read
	made  time.Time
	files map[string]*parsed
	last  *sweep // the newest scan of everything; nil for none
	// alike are good contents that were parsed lately: files with equal ones share what they mean.
	alike map[likeness]*meaning
}

// likeness is what a meaning depends on.
type likeness struct {
	sum       contentSum
	extension string
}

// maxAlike bounds alike.
const maxAlike = 256

func newContents() *contents {
	return &contents{made: time.Now(), files: make(map[string]*parsed), alike: make(map[likeness]*meaning)}
}

// now is the time since the contents were made, never zero.
func (c *contents) now() time.Duration { return time.Since(c.made) + 1 }

// of returns what a file means, if its state says that its content is the one that was read.
func (c *contents) of(path string, s stamp) (*parsed, bool) {
	p, ok := c.files[path]
	return p, ok && s.ok && p.stamp == s && (p.settled || c.now()-p.read < settles)
}

// read notes a content that was just read, and parses it unless it is what it was.
func (c *contents) read(path string, data []byte, s stamp, parse func() meaning) *parsed {
	now, whole := c.now(), sha256.Sum256(data)
	sum := contentSum(whole[:len(contentSum{})])
	p, ok := c.files[path]
	if !ok {
		p = &parsed{path: path}
		c.files[path] = p
	}
	if !ok || p.sum != sum {
		p.meaning = c.meaning(likeness{sum, filepath.Ext(path)}, parse)
		p.read = 0
	}
	if p.stamp != s || p.read == 0 {
		p.stamp, p.read, p.settled = s, now, false
	}
	p.settled = p.settled || now-p.read >= settles
	return p
}

// meaning parses a content, unless a good file with the same was parsed lately.
func (c *contents) meaning(like likeness, parse func() meaning) *meaning {
	if m, ok := c.alike[like]; ok {
		return m
	}
	m := parse()
	m.sum = like.sum
	if m.fault == nil {
		if len(c.alike) == maxAlike {
			clear(c.alike)
		}
		c.alike[like] = &m
	}
	return &m
}

// keep forgets the files that a scan of everything has not seen.
func (c *contents) keep(seen map[string]bool) {
	maps.DeleteFunc(c.files, func(path string, _ *parsed) bool { return !seen[path] })
}

// intern takes the specs of the jobs in the value that are the same, so that a process has one of each.
func (c *contents) intern(v cluster.Value) {
	c.turn.Lock()
	defer c.turn.Unlock()
	taken := make(map[*meaning]bool)
	for path, p := range c.files { // order-free: each of several equal specs will do
		if p.fault != nil || taken[p.meaning] {
			continue
		}
		job, ok := v.Job(source.ID(filepath.ToSlash(path)))
		if ok && (job.Spec == p.spec || same(job.Spec, p.spec)) {
			p.spec, taken[p.meaning] = job.Spec, true
		}
	}
}
