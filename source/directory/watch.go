package directory

import (
	"io/fs"
	"path/filepath"

	"github.com/fsnotify/fsnotify"

	"github.com/rota-run/rota/work"
)

// addTree watches a directory and all below it. What cannot be watched is left to the rescans.
func addTree(w *fsnotify.Watcher, dir string, g *work.Grant) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil //nolint:nilerr // an unreadable place is reported by the scan
		}
		if err := w.Add(path); err != nil {
			g.Log.Debug("watch a directory", "path", path, "err", err)
		}
		return nil
	})
	if err != nil {
		g.Log.Debug("watch a tree", "path", dir, "err", err)
	}
}
