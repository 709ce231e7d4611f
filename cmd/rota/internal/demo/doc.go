// Package demo starts three members as real processes, does to them what happens to processes, and measures what became of their tasks.
//
// # Purpose
//
// `rota demo` shows within a minute what Rota promises, on the machine of whoever asks, and fails where a promise is not kept.
//
// # State
//
// A temporary directory holds the store, the task files, and for each member a log and a witness file: one line for each start and stop of a task,
// by a clock that all processes share. Nothing is measured by the members about themselves but those lines; see [Judge].
//
// # What is not guaranteed
//
// The bounds are for a machine that is not overloaded. A member that is suspended in the millisecond in which it holds the file store's write lock
// keeps the others from writing until it goes on: then the demonstration fails, and says so.
package demo
