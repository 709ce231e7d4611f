// Package pages reads what the documents tell people to type.
//
// # Purpose
//
// A page that is read by a test can be wrong in two ways less. [Blocks] finds the fenced blocks of a document, [Commands] the command lines in one of
// them and in running text, and [ReadGuide] what the guide page of a store has a new user do, from nothing to three members. The tests of this
// package do that, with the text as it stands; those of cmd/rota look whether the command knows what all documents say of it.
//
// # What is not guaranteed
//
// It knows as much of Markdown and of a shell as our documents use: fences of three backticks, words in quotes, comments, and lines that go on behind a
// backslash.
package pages
