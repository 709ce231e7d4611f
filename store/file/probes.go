package file

import (
	"errors"
	"io/fs"
	"os"
	"slices"
)

// probesPerLook bounds how many session locks are tried in one look. With more sessions a look goes on where the last
// ended.
const probesPerLook = 64

// probes are the lock files of the sessions that watches care for, kept open so that a look costs one system call each.
// Only the notifier's goroutine uses them.
type probes struct {
	disk  *disk
	files map[string]*os.File
	order []string // ids, sorted
	next  int
}

// keep opens and closes files until they are those of ids. It returns the sessions that are found to be dead.
func (p *probes) keep(ids map[string]bool) (dead []string) {
	if p.files == nil {
		p.files = make(map[string]*os.File)
	}
	for id, file := range p.files {
		if !ids[id] {
			file.Close()
			delete(p.files, id)
		}
	}
	for id := range ids {
		if p.files[id] != nil {
			continue
		}
		file, err := p.disk.root.Open(sessionName(id))
		switch {
		case err == nil:
			p.files[id] = file
		case errors.Is(err, fs.ErrNotExist):
			dead = append(dead, id)
		default:
			p.disk.log.Warn("open lock file of session", "dir", p.disk.dir, "error", err)
		}
	}
	p.order = p.order[:0]
	for id := range p.files {
		p.order = append(p.order, id)
	}
	slices.Sort(p.order)
	return dead
}

// look tries some locks and returns the sessions that have ended. They are not looked at again.
func (p *probes) look() (dead []string) {
	for range min(len(p.order), probesPerLook) {
		if p.next >= len(p.order) {
			p.next = 0
		}
		id := p.order[p.next]
		p.next++
		if file := p.files[id]; file != nil && free(file) {
			dead = append(dead, id)
		}
	}
	for _, id := range dead {
		p.files[id].Close()
		delete(p.files, id)
		p.order = slices.DeleteFunc(p.order, func(other string) bool { return other == id })
	}
	return dead
}

func (p *probes) closeAll() {
	for _, file := range p.files {
		file.Close()
	}
	p.files, p.order = nil, nil
}

// refresh reloads the sessions that the watches need, if they may have changed.
func (n *notifier) refresh() {
	for _, w := range n.staleWatches() {
		members, err := n.members(w.prefix)
		if err != nil {
			n.disk.log.Warn("list sessions below a prefix", "dir", n.disk.dir, "prefix", w.prefix, "error", err)
			n.setMembers(w, nil, true)
			continue
		}
		n.setMembers(w, members, false)
	}
	n.gone(n.probes.keep(n.watched()))
}

func (n *notifier) staleWatches() (stale []*watch) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for w := range n.watches {
		if w.stale && !w.log {
			stale = append(stale, w)
		}
	}
	return stale
}

func (n *notifier) setMembers(w *watch, members map[string]bool, stale bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	w.stale = stale
	if !stale {
		w.members = members
	}
}

// members are the sessions with documents below prefix.
func (n *notifier) members(prefix string) (map[string]bool, error) {
	// By the index of documents with a session: below a watched prefix there may be 100,000 without one.
	rows, err := n.disk.asks.rows(background,
		`SELECT DISTINCT sess FROM docs INDEXED BY docs_sess WHERE sess <> '' AND key >= ? AND key < ?`, prefix,
		prefix+"\x7f") // no key has this byte
	if err != nil {
		return nil, err
	}
	ids, err := texts(rows)
	members := make(map[string]bool, len(ids))
	for _, id := range ids {
		members[id] = true
	}
	return members, err
}

func (n *notifier) watched() map[string]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := make(map[string]bool)
	for w := range n.watches {
		for id := range w.members {
			all[id] = true
		}
	}
	return all
}

func (n *notifier) checkSessions() { n.gone(n.probes.look()) }

// gone gives a hint to those who watch documents of dead sessions, and has the documents removed.
func (n *notifier) gone(dead []string) {
	if len(dead) == 0 {
		return
	}
	n.mu.Lock()
	for w := range n.watches {
		for _, id := range dead {
			if w.members[id] {
				delete(w.members, id)
				w.hint()
			}
		}
	}
	n.mu.Unlock()
	for _, id := range dead {
		n.disk.bury(id)
	}
}
