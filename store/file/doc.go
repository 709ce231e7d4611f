// Package file is a store in one directory of one machine, shared by any number of processes.
//
// # Purpose
//
// It is the store of `rota run --store file:./dir`: no server, one folder to copy or delete. It is a driver: it reads
// and swaps rows, keeps a log, and sees processes end. Documents, snapshots, sessions and the life of a handle are
// those of package engine above it. Queues are its own.
//
// # State
//
//	dir/                     0700, on a local file system; all files in it 0600, whatever the umask is
//	  rota.db, -wal, -shm    an SQLite database in WAL mode: rows, log, and flows once there was one; format 2
//	  queue.lock, turn.lock  whose turn it is to write (flock)
//	  bell                   numbers that change after each commit, watched by readers; and how far the log was
//	                         committed
//	  sessions/<id>.lock     held with flock for as long as the session's process lives
//	  seats/<n>              held by each process that has sessions
//	  members/               sockets of members, which the store does not use
//
// One goroutine per handle writes. Calls that arrive while it waits for its turn or for the disk go into one
// transaction, also those that append: an append compares nothing, and nobody loses. A process first takes queue.lock,
// then turn.lock, then releases queue.lock. So one process writes, one is next, and a process that has just written
// queues up again after those that wait. Reading needs no lock.
//
// # Guarantees
//
// Acknowledged writes are on the disk (synchronous=FULL) and survive kill -9 and, if the disk keeps what it has synced,
// a power cut; except heartbeats and the leases of a queue's messages, which end with the power. Each record, row and
// message carries a checksum that is verified when it is read. A read shows one moment. Readers get a hint within
// milliseconds of a commit; within 50 ms if the kernel sends no file events. If a process dies after its commit and
// before it rings the bell, the hint comes with the next commit, or within a second if there is none. Heartbeats ring
// nothing.
//
// A session ends at the moment its process ends, for whatever reason, because the kernel then releases the lock. A
// process that reads a row whose session has ended sees that it is gone, and removes it. A watch of a prefix tries the
// locks of the sessions below it every 45 ms, at most 64 each time: with up to 64 members a death is detected within 45
// ms.
//
// Only the owner of the directory can read or lock its files. An existing directory that other users may enter is
// refused: [ErrShared], unless [Options.AllowShared].
//
// # What is not guaranteed
//
// SessionsExpire is false: a suspended process keeps its sessions, and its turn to write. If it is suspended in the
// middle of a write, which takes milliseconds, others can read but not write until it resumes or is killed; their calls
// end with their ctx. A child process inherits no lock, because Go opens all files close-on-exec; a program that clears
// that flag keeps the session of its dead parent alive.
//
// Network file systems are refused: their locks and memory maps do not give the guarantees needed here.
//
// # Failures
//
// A log that ends before the last acknowledged entry, because the end of its journal or all of it is missing, is not
// opened: [ErrDamaged]. SQLite itself treats such a journal as one whose last transactions never happened. This does
// not protect documents that were changed after the newest record of the log.
//
// A full disk, an input/output error, a read-only file system: store.ErrUnavailable, nothing was changed, no write is
// half done; if the disk failed to confirm a commit, store.ErrUnknown. A damaged database or record: [ErrDamaged], with
// the kind and the place. Trimming needs a little free space too: on a full disk free some by other means first.
//
// In a process that has a store open, never open and close rota.db yourself: closing any descriptor of a file drops all
// POSIX locks that the process has on it, SQLite's too.
//
// # Where it comes from
//
// The embedded database is SQLite, which documents WAL mode, its locks and its durability at sqlite.org/wal.html.
// Session locks follow the lock files of daemons: only the kernel always knows that a process is dead.
package file
