// Package datastore keeps task definitions and records of the journal in Google Cloud Datastore, or in Firestore in
// Datastore mode.
//
// # Purpose
//
// [Tasks] is a source of tasks: each entity of the kind coalesce-tasks is a task file, ID.json. Its properties are
// version (a string that is another one after each change), data (the task as JSON), last_updated (indexed; an integer,
// milliseconds since 1970) and metadata (indexed; a list of tokens such as squad=backend). [Logs] is a storage: it
// writes what the journal says of tasks as entities of the kind coalesce-logs, with timestamp, task_id, type and data.
//
// # Guarantees
//
// A task is taken again when its version has changed. What was updated is asked for often, from the newest update that
// is known, less an allowance for the difference of clocks. All keys are read at the start and now and then: that finds
// what was deleted, and what a clock that was too late hid. A task is removed only when a read by its key confirms that
// it is gone or no longer has the metadata. An error removes nothing. Where a malformed task is, or one whose ID cannot
// be the name of a job, is journaled; the last good definition keeps running.
//
// A record that is written again after a lost answer is there once: its key follows from its content.
//
// # What is not guaranteed
//
// A change that keeps the version is not seen. A task that was deleted runs on until the next reading of all keys. A
// change with a last_updated that is older than the allowance is seen when versions are compared, 10 minutes later at
// most. A kind that is suddenly empty removes nothing if it had more than ten tasks, as a directory does.
//
// # Failures
//
// The client's errors with what to try. Entities that Datastore refuses are dropped and counted as journal records that
// were lost.
//
// # Where it comes from
//
// The source document coalesce, "Datastore Task Source" and "Datastore Storage".
package datastore
