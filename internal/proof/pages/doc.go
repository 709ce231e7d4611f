// Package pages reads what the documents ask people to type.
//
// # Purpose
//
// A page that a test reads has two ways less to be wrong. [Blocks] finds the fenced blocks of a document, [Commands]
// the command lines in a block, and [Spans] the code in running text. The tests of rotacmd/internal/command check that
// the command knows what the documents say of it; proof/pages types what the pages of the stores say, on real servers.
//
// # What is not guaranteed
//
// It knows as much of Markdown and of a shell as our documents use: fences of three backticks, quoted words, comments,
// and lines that continue after a backslash.
package pages
