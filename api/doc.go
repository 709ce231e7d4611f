// Package api shows a cluster: the structures that the HTTP API and the command line print alike, and the HTTP server of one member.
//
// # Purpose
//
// [StatusOf], [MembersOf], [TasksOf] and [WhyOf] are pure functions of a cluster value (and of journal records where they say so). A member's server
// and a client that merely reads the store use the same ones, so both show the same.
//
// # Guarantees
//
// Lists are sorted by name. Field names and their meaning do not change within a major version; new fields may come. Nothing here holds a
// secret: definitions are not shown.
//
// # What is not guaranteed
//
// Times are the wall clocks of whoever wrote the entry, for people. Nothing decides by them.
//
// # Failures
//
// The server listens on loopback unless it has TLS and a token; see [Listen].
package api
