// Package adversary walks every interleaving of the requests of a few callers of a driver, with every outcome of every
// request.
//
// # Purpose
//
// What the engine decides is proved once, against a driver that does all that package driver allows: it reads keys one
// after the other with other requests between them; it refuses, loses requests and answers, executes them late, leaves
// out rows of ranges; and callers die between any two requests. [Model] is such a system for package check.
//
// A caller is a [Script]: code that calls the engine. It keeps no state between two requests. It is run again from its
// beginning, with the answers that it has had, up to the first request without one. So a state is a plain value, and
// what is walked is the code itself.
//
// # What is not guaranteed
//
// Nothing beyond a few callers and faults: the scenarios must be small.
package adversary
