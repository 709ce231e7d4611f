// Package directory is the source of tasks that are files in directories.
//
// # Purpose
//
// A directory is scanned and watched; each .yaml, .yml or .json file below it is a job. The source is itself a task: one member at a time,
// of those that declare it, reads it and writes what changed, under its token.
//
// # Guarantees
//
// A scan that is incomplete removes nothing. A malformed file changes nothing: the last good definition keeps running. Files that define
// the same id are all reported and none is used. Nothing outside the directory is read, links out of it are reported.
//
// # Where it comes from
//
// The source document coalesce, "Directory Task Source".
package directory
