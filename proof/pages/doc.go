// Package pages follows the pages of the stores as a new user does.
//
// # Purpose
//
// [ReadGuide] reads what the page of a store has a new user do, from nothing to three members. The tests type that into
// a shell, with the text as the page has it, on real servers.
//
// # What is not guaranteed
//
// Pages are read by internal/proof/pages, with the limits that are named there. Containers are not started: a test
// checks what the Compose file asks for.
package pages
