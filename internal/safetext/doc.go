// Package safetext keeps what others have written from driving a terminal, a reader or a shell.
//
// # Purpose
//
// A name, a message or a key may come from a file, a target or a store that somebody else writes to. Control characters
// in it move a terminal's cursor, bidi characters show another text than the one that is there, and a shell takes a
// name apart that a person has copied. [Line] is for a line on a terminal, [Escaped] for what keeps every byte, [Word]
// for a command that is suggested, [JSON] for a document. [Nearest] is the name that somebody meant who wrote another
// one.
//
// # Guarantees
//
// None of the results has a character that [Deceives]. A shell that knows $'…' (bash, zsh, ksh) reads back what Word
// was given, any POSIX shell if it had no such character. A reader of JSON reads back the same values.
//
// # What is not guaranteed
//
// Letters of other scripts that look like Latin ones stay.
package safetext
