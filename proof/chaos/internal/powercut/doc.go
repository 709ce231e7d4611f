// Package powercut cuts the power of real file systems while processes write to a store of the kind `file`, and looks what is left.
//
// # Purpose
//
// The store says that what it has acknowledged survives a power cut where the disk keeps what it has synced. Here a file system in an image file is
// mounted through a loop device, processes append entries, change documents and work on a flow, and in the middle of that the file system is shut down by the ioctl
// that ext4 and xfs have for such tests: from that instant on nothing of it reaches the device, neither data nor its own journal. Then it is
// mounted again, as after a power cut.
//
// # What is decided
//
// The store opens; every acknowledged entry is there with its bytes, or a snapshot that covers it; every entry that is there was given to it by
// somebody; indexes have no holes; the chain of hashes that each entry carries holds; every document has what was acknowledged last, or what
// was on its way; each segment of the flow is in one place, where it was acknowledged to be or further. A new directory whose first entry was
// acknowledged is there.
//
// # The control
//
// A rig that finds nothing proves nothing. So the same is done with writers whose fsync is a lie (strace answers it without doing it): then
// acknowledged entries must be missing, or the outcome is not ok.
//
// # What is not guaranteed
//
// The loop device has no cache of its own that could be lost: what the file system has sent to it stays. A store that synced but forgot to make
// the disk flush its cache would pass; SQLite leaves that to the file system's fsync. Torn sectors are not made.
package powercut
