package file

import "github.com/rota-run/rota/store"

var (
	_ store.EndableSession = (*session)(nil)
	_ store.Renewer        = (*session)(nil)
)

// EndKey implements store.EndableSession: the lock file. The session lasts for as long as anybody holds it open, or until Close.
func (c *session) EndKey(...string) store.EndKey { return store.EndKey{File: c.file} }
