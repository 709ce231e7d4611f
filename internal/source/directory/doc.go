// Package directory is the source of tasks that are files in directories.
//
// # Purpose
//
// Each .yaml, .yml or .json file in a directory or below it is a job, named after the file. The source is itself a task
// ([Config.Type], [Job]): one member at a time, of those that declare it ([LabelKey]), scans the directories and writes
// the changes, under its token. So members with slightly different copies don't conflict, and a member that lost its
// grant changes nothing. Each member publishes the files of its own copy and those removed from it ([Inventory]), so
// that copies can be compared ([Copies]). A job that was killed by hand returns while its file exists; a completed one
// stays completed until its definition changes.
//
// # Guarantees
//
// An incomplete scan removes nothing. A job is removed only if its file disappeared from the copy of a living member,
// even while that was down, and no other living member has it: a new reader with an older copy never removes files that
// it did not have. A job is removed only after two scans found its file missing, so that replacing a file does not stop
// its task. A suddenly empty directory, such as an unmounted disk, removes only a few jobs. A malformed file changes
// nothing: the last good definition keeps running. Files that define the same id are all reported and none is used. A
// fault is journaled once, even if the source moves to another member, and so is its repair. Nothing outside the
// directory is read: links that lead out are reported, links to files inside are read, links to directories are
// reported and not followed. Only regular files are opened, and only source.MaxFile bytes of them are read.
//
// # What is not guaranteed
//
// Names that begin with a dot are skipped, including directories; files with other extensions are counted and not read.
// A half-written but well-formed file is used until the next scan. A file that is written twice within the resolution
// of its file system's clock, with the same size, and without an event of the operating system, is noticed a quarter of
// a minute later. If the operating system sends no change events (network file systems, too many directories), the next
// scan finds the changes: every 5 s, or up to 30 s if a scan takes longer than a quarter of a second.
//
// # Failures
//
// What cannot be read is a fault that names the path. If the cluster refuses a command, the journal records it once,
// and the next scan retries.
//
// # Where it comes from
//
// The source document coalesce, "Directory Task Source".
package directory
