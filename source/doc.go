// Package source turns definitions that people write into jobs.
//
// # Purpose
//
// One file, YAML or JSON, is one job with one unnamed task; the file's name without extension is the job's id. Both formats are read into
// the same tree of values with places, and what a definition means is decided on that tree alone. Whatever is wrong is said with file, line,
// column, the lines concerned and what to try; of several faults the first in the file.
//
// # Guarantees
//
// Files with equal content give equal specs, byte by byte, whatever their format, layout, comments and order of fields. What is not
// understood is refused: unknown fields, fields that stand twice, anchors, aliases, merge keys, tags, directives, second documents, text that
// is not UTF-8, more than [MaxFile] bytes, deep nesting. References to secrets (env:, file:) are not resolved. Parse does no I/O.
//
// # What is not guaranteed
//
// A config is checked with the task types of the member that reads the file; another member may know more or fewer. The lines that are
// shown with a fault are shown as they stand in the file: a password that was written there, instead of a reference, is among them.
//
// # Failures
//
// [Parse] returns a *[MalformedError] and nothing else. It does not panic, also where a task type's check of its config does.
//
// # Where it comes from
//
// The source document coalesce: "Task Definition", "Task Source" and, for what a malformed one says, "Storage".
package source
