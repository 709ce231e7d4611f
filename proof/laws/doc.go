// Package laws holds the tests that guard the laws of the house.
//
// # Purpose
//
// What reviewers would otherwise have to remember is a function here: which package may import which ([Imports]), on
// which floor each room stands ([Floors]), who may use which foreign module ([Vendors]), what pure code may not do
// ([Purity], [TypedPurity]), what must be documented ([Documented], [Headings]), how long a file may be ([Sizes]), what
// has no place in a test ([Tests]) or anywhere ([Globals], [Errors], [Text], [Links]), how wide a comment may be
// ([Columns]), and where the compiler would do its work many times over ([Methods]). Each takes parsed files and
// returns faults as lines of text; laws_test.go runs all of them over the whole tree.
//
// # Guarantees
//
// Each law is also run on small files below testdata that break it, so a law that can no longer fail is noticed. The
// tables are closed: a package or a foreign module that nobody has put into them is a fault.
//
// # What is not guaranteed
//
// Purity is judged by what a file names, and by what the functions that it calls in its own package name; a pure file
// that calls an impure method through an interface or a function value is not seen. The bench module and contrib are
// not walked.
//
// # Where it comes from
//
// Nomad states the same law in semgrep rules and pebble as a Go test; where nobody checked, clocks crept back into pure
// code.
package laws
