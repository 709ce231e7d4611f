package zookeeper

import (
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/engine/log"
)

// The maximum sizes; above them, calls return ErrTooLarge. A server accepts requests of up to 1 MB (jute.maxbuffer),
// with names and ACLs.
const (
	MaxRecord   = 900 << 10       // bytes of a document or of a record of the log
	MaxSnapshot = log.MaxSnapshot // bytes of a snapshot, which is split into parts
)

// ErrDamaged marks what this store cannot have written: another program wrote or deleted below its path.
var ErrDamaged = log.ErrDamaged

// Store is one handle on the store. It is safe for concurrent use.
type Store struct{ *full.Store }
