// Package api is the HTTP server of one member: its API, its metrics and its page.
//
// # Purpose
//
// [Serve] answers with what package view shows. The command line shows the same.
//
// # Guarantees
//
// Lists are sorted by name. Paths, field names and their meaning do not change within a major version; new fields may
// come. Nothing here holds a secret: definitions are not shown.
//
// # What is not guaranteed
//
// Times are the wall clock of the entry's writer, for people. Nothing decides by them.
//
// # Failures
//
// The server listens on loopback unless it has TLS and a token; see [Listen].
package api
