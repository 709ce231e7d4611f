// Package cli holds tests of the command rota as a user runs it: as processes, with members that run for as long as a
// test needs them.
//
// # Purpose
//
// What one command line does by itself is tested in rotacmd/internal/command, in one process and without a clock. Here
// members are started, killed and suspended, on a directory and on real servers, and the commands are tried on them.
//
// # What is not guaranteed
//
// Kinds of servers that this machine cannot start are skipped, with the reason.
package cli
