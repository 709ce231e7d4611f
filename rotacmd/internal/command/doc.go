// Package command is the command rota.
//
// # Purpose
//
// [Main] is the whole of a binary: the command line, the daemon, the demonstration. [Program] says what a binary has
// besides what is in Rota; package rotacmd is the door to it for users, and the command rota is its first user. root.go
// has the tree, frame.go what commands share, and tables.go, protocols.go and package stores are the only tables.
//
// # Guarantees
//
// Exit codes are 0, 1 (failed) and 2 (wrong use). An error is one line, followed by what to try. -o json prints what
// the HTTP API answers.
//
// # What is not guaranteed
//
// Text for people may change with each version; JSON and exit codes do not.
//
// # Failures
//
// A command waits 30 s for its store.
package command
