// Package file is a store in one directory of one machine, shared by any number of processes.
//
// # Purpose
//
// It is the store of `rota run --store file:./dir`: no server, one folder to copy or delete. It has all contracts of package
// store: documents, log, queues, watches and sessions.
//
// # State
//
//	dir/                     0700, on a local file system; all files in it 0600, whatever the umask is
//	  rota.db, -wal, -shm    an SQLite database in WAL mode: documents, log, snapshots, and
//	                         flows once there was one
//	  queue.lock, turn.lock  whose turn it is to write (flock)
//	  bell                   numbers that change after each commit, watched by readers; and how far the log was committed
//	  sessions/<id>.lock     held with flock for as long as the session's process lives
//
// One goroutine per handle writes. Calls that come while it waits for its turn or for the disk go into one transaction. A
// process first takes queue.lock, then turn.lock, then lets go of queue.lock: so one is at work, one is next, and who has
// just written lines up again behind those that wait. Reading needs no lock.
//
// # Guarantees
//
// What was acknowledged is on the disk (synchronous=FULL) and survives kill -9 and, where the disk keeps what it has
// synced, a power cut; but for the leases of a queue's messages, which end with the power. Each record,
// snapshot, document and message carries a checksum that is verified when it is read. Readers get a
// hint within milliseconds of a commit; where the kernel gives no file events, within 50 ms; of what a process committed
// that died before it could ring the bell, within a second if nobody else commits in that time, else with the next change.
//
// A session ends in the moment in which its process ends, however it ends, because the kernel then drops the lock. Whoever
// reads a document whose session has ended sees that it is gone, and removes it. A watch of a prefix tries the locks of the
// sessions below it every 45 ms, no more than 64 each time: with up to 64 members a death is noticed within 45 ms.
//
// Only the owner of the directory can read or lock its files. One that is there already and that others may enter is refused: [ErrShared], unless
// [Options.AllowShared].
//
// # What is not guaranteed
//
// SessionsExpire is false: a process that is suspended keeps its sessions, and its turn. If it is suspended in the middle of
// a write, which takes it milliseconds, others can read but not write until it goes on or is killed; their calls end with their ctx.
// A child that a member starts inherits no lock, since Go opens all files close-on-exec; a program that clears that flag
// keeps the session of its dead parent alive.
//
// Network file systems are refused: their locks and their memory maps do not hold what is needed here.
//
// # Failures
//
// A log that ends before what was acknowledged, because the end of its journal or all of it is gone, is not opened: [ErrDamaged]. SQLite by
// itself takes such a journal for one whose last transactions never happened. Documents that were changed after the newest record of the log
// are not covered by that.
//
// A full disk, an input/output error, a read-only file system: store.ErrUnavailable, nothing was changed, nothing is half
// written; if the disk refused to confirm a commit, store.ErrUnknown. A damaged database or record: [ErrDamaged], and what and where. Trimming needs
// a little free space as well: on a full disk free some by other means first.
//
// In a process that has a store open, never open and close rota.db yourself: closing any descriptor of a file drops all
// POSIX locks that the process has on it, SQLite's too.
//
// # Where it comes from
//
// The embedded database is SQLite, which documents WAL mode, its locks and its durability at sqlite.org/wal.html. Session locks
// follow the old habit of lock files held by daemons: the kernel is the only one who always knows that a process is dead.
package file
