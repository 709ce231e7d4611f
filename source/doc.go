// Package source turns definitions that people write into jobs.
//
// # Purpose
//
// One file is one job with one unnamed task; its name without extension is the job's id. Whatever is wrong with it is said with
// file, line, column, the lines concerned and what to try.
//
// # Failures
//
// Parse returns a *MalformedError and nothing else. It does no I/O.
package source
