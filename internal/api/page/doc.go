// Package page is the web page of a member: what package api answers, as it changes, for people.
//
// # Purpose
//
// [Handler] serves one page with its scripts and its style from the binary: no build step, no framework, nothing from
// elsewhere. The page reads the API of the same member, and follows /v1/events.
//
// # Guarantees
//
// The page shows nothing that the API does not, and says so when what it shows is old: when the member does not answer,
// and when the member cannot reach its store. It runs no code but its own, which its content security policy enforces.
// What comes from a cluster is shown as text.
//
// # What is not guaranteed
//
// Browsers older than two years are not tested.
//
// # Failures
//
// The files are part of the binary: there is nothing to fail.
package page
