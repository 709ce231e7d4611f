// Package logging keeps a log usable when something goes wrong many times a second, and when the log itself cannot be
// written.
//
// # Purpose
//
// [Limit] passes only some of the records with one message in each interval, counts the others, and says later how many
// there were. [Writer] drops lines that cannot be written now, because the disk is full or nobody reads the pipe, and
// says how many were lost when it can write again.
//
// # Guarantees
//
// Each record is written or counted, and each count is written with a later record or by [Limiter.Flush]. A record
// never waits for the reader of a pipe for longer than [Patience], once.
//
// # What is not guaranteed
//
// A write to a file waits for the file system.
package logging
