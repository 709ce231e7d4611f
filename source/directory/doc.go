// Package directory is the source of tasks that are files in directories.
//
// # Purpose
//
// Each .yaml, .yml or .json file in a directory or below it is a job, named as the file. The source is itself a task ([Config.Type], [Job]): one
// member at a time, of those that declare it ([LabelKey]), looks at the directories and writes what changed, under its token; so members with
// slightly different copies don't fight, and one that lost its grant changes nothing. Each member publishes which files its own copy has and which were
// removed from it ([Inventory]), so that copies can be compared ([Copies]). A job that was killed by hand comes back while its file
// is there; one that completed stays completed until its definition changes.
//
// # Guarantees
//
// A scan that could not look at everything removes nothing. A job is removed only when its file was seen to go from the copy of a living member, also
// while that was down, and no other living member has it: a reader that takes over with an older copy removes nothing that it never had. A job is removed only after two looks found its file missing, so that a file being
// replaced does not stop its task. A directory that is suddenly empty, as one whose disk is not mounted is, removes no more than a few jobs
// ([Diff]). A malformed file changes nothing: the last good definition keeps running. Files that define the same id are all reported and none is
// used. A fault is journaled once, also when the source moves to another member, and its mending too. Nothing outside the directory is read:
// links that lead out are reported, links to files inside are read, links to directories are reported and not followed. Only regular files are
// opened, and of those at most source.MaxFile bytes.
//
// # What is not guaranteed
//
// Names that begin with a dot are skipped, directories too; files with other endings are counted and not read. A file that is half written but
// well-formed is taken as it stands, until the next look. Where the operating system cannot tell of changes (network file systems, too many
// directories) they are found by the next scan: every 5 s, or up to 30 s where a scan takes longer than a quarter of a second.
//
// # Failures
//
// What cannot be read is a fault that names the path. Where the cluster refuses a command the journal says so, once, and the next look tries again.
//
// # Where it comes from
//
// The source document coalesce, "Directory Task Source".
package directory
