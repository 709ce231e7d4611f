// Package work is what task types are made of, and what they work on.
//
// # Purpose
//
// A task type is a Go value ([Type]) in a table ([Types]) of the program. Its [Runner] gets a [Grant]: one partition to
// work on, under a token, until its ctx ends. [Partitioner], [Tracker] and [Watermark] help those that work on
// partitioned inputs; package worktest helps to test types. A member's supervisor starts the runners; it is below
// internal.
//
// A [Partitioner] is a Runner that lists inputs and keeps a window of them as partitions of its task. A pure function
// decides what it lists, and when it writes a step.
//
// # Guarantees
//
//   - Never two runs of one partition at once on this member, and no two rounds.
//   - No round begins after the member's lease has ended, by the suspend-aware clock read at that instant, even in a
//     process that has just been resumed.
//   - A panic of a runner is a failure of its partition ("panic: ...") and of nothing else.
//
// # What is not guaranteed
//
// Code that ignores its ctx cannot be stopped. It may overlap with the next owner once this member's lease has expired.
// A round or run in progress when the process is suspended continues after it resumes until it asks its ctx, or a ctx
// derived from it has heard of it; let the resource check the token.
package work
