package file

import (
	"log/slog"
	"time"
)

// Options of [Open]. The zero value is right for a member.
type Options struct {
	// MustExist refuses a directory that holds no store yet, instead of making one.
	MustExist bool
	// ReadOnly opens for looking only: it implies MustExist, and each call that would change something is refused.
	ReadOnly bool
	// AllowAnyFS opens also on file systems that are refused by default, such as NFS and FUSE. Only for those who know that
	// flock and shared memory maps work there between all processes that use the store.
	AllowAnyFS bool
	// AllowShared opens also a directory that others than its owner may enter, which is refused by default with [ErrShared]. The files are for
	// the owner alone all the same, as far as the file system has modes; but who may write to the directory can remove them and put others in
	// their place.
	AllowShared bool
	// Logger hears of what the store repairs by itself; default: discard.
	Logger *slog.Logger

	maxPages int64         // tests: the database may not grow beyond; 0: no bound
	guard    time.Duration // tests: how often to look without a file event
	busy     time.Duration // tests: how long to wait for another program that locks the database
	noEvents bool          // tests: as if the kernel had no file events
}

// The rhythm of looking, while there are watches. Waking up costs more than what is done then, so all is done in one go: the bell is read, in
// case a file event was lost, and the locks of sessions are tried.
const (
	guardEvery   = 45 * time.Millisecond
	versionEvery = 20 // looks: the database is asked, in case somebody died between commit and bell
)

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.guard == 0 {
		o.guard = guardEvery
	}
	if o.busy == 0 {
		o.busy = 5 * time.Second
	}
	o.MustExist = o.MustExist || o.ReadOnly
	return o
}
