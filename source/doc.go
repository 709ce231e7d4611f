// Package source turns definitions that people write into jobs.
//
// # Purpose
//
// One file, YAML or JSON, is one job with one unnamed task; the file's name without extension is the job's id. Both
// formats are parsed into the same tree of values with places, and only that tree determines the meaning of a
// definition. A fault is reported with file, line, column, the relevant lines and what to try; of several faults the
// first one in the file.
//
// # Guarantees
//
// Files with equal content give equal specs, byte by byte, whatever their format, layout, comments and order of fields.
// Everything unknown is refused: unknown fields, duplicate fields, anchors, aliases, merge keys, tags, directives,
// second documents, text that is not UTF-8, more than [MaxFile] bytes, deep nesting. References to secrets (env:,
// file:) are not resolved. Parse does no I/O.
//
// # What is not guaranteed
//
// A config is checked with the task types of the member that reads the file; another member may know more or fewer. The
// lines shown with a fault are copied from the file, without what the name of its field says to be a secret: they may
// include one that was written below another name, instead of a reference.
//
// # Failures
//
// [Parse] returns a *[MalformedError] and nothing else. It does not panic, even if a task type's check of its config
// does.
//
// # Where it comes from
//
// The source document coalesce: "Task Definition", "Task Source" and, for the content of a fault, "Storage".
package source
