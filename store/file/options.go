package file

import (
	"cmp"
	"log/slog"
	"time"
)

// Options of [Open]. The zero value is right for a member.
type Options struct {
	// MustExist refuses a directory without a store, instead of creating one.
	MustExist bool
	// ReadOnly opens the store read-only: it implies MustExist, and every change is refused.
	ReadOnly bool
	// AllowAnyFS also opens on file systems that are refused by default, such as NFS and FUSE. Set it only if you know that
	// flock and shared memory maps work there between all processes that use the store.
	AllowAnyFS bool
	// AllowShared also opens a directory that other users may enter, which is refused by default with [ErrShared]. The files are still
	// private to the owner, as far as the file system has modes; but anyone who may write to the directory can replace
	// them.
	AllowShared bool
	// Processes is how many handles may have sessions at a time, the same number for all; default MaxProcesses. More need more processors.
	Processes int
	// Logger gets the repairs of the store; default: discard.
	Logger *slog.Logger

	maxPages int64         // tests: the database may not grow beyond; 0: no bound
	guard    time.Duration // tests: how often to look without a file event
	busy     time.Duration // tests: how long to wait for another program that locks the database
	noEvents bool          // tests: as if the kernel had no file events
}

// The polling interval while there are watches. Waking up costs more than the work, so all work is done at once: the bell is read, in
// case a file event was lost, and the locks of sessions are tried.
const (
	guardEvery   = 45 * time.Millisecond
	versionEvery = 20 // looks: the database is asked, in case somebody died between commit and bell
)

func (o Options) withDefaults() Options {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Processes = cmp.Or(max(o.Processes, 0), MaxProcesses)
	o.guard = cmp.Or(o.guard, guardEvery)
	o.busy = cmp.Or(o.busy, 5*time.Second)
	o.MustExist = o.MustExist || o.ReadOnly
	return o
}
