// want: is of one machine
// as: docs/x.md

// See /ro|ot/notes/x.txt.
package x
