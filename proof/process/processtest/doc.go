// Package processtest has what tests need around real processes: programs built once, processes that end with their test, and bounded waits.
//
// # Purpose
//
// A test starts what a user runs. [Main] builds the programs for all tests of a package; [Start] ends a process with its test and logs what it said if
// the test failed; [Await] waits until a condition holds.
//
// # What is not guaranteed
//
// [Patience] bounds waits. It says nothing about how long things should take.
package processtest
