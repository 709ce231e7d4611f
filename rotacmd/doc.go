// Package rotacmd is the command rota as a library: for a binary of one's own that has all of it and more.
//
// # Purpose
//
// Task types, functions, stores, sources and publishers are Go code. A program that adds some, and is otherwise the
// command rota, has run, demo, status, why and the other commands, the API and the web page:
//
//	func main() {
//		rotacmd.Main(rotacmd.WithName("weather"), rotacmd.WithTypes(rota.NewCheck("station", read)))
//	}
//
// The command rota is rotacmd.Main().
//
// # Guarantees
//
// What is added works as what Rota has: rota validate checks its definitions, URLs of its stores work with each
// command, a name that is taken is refused.
//
// # What is not guaranteed
//
// The package links all that the command has, with the clients of all servers. A service that embeds a member and wants
// to stay small uses package rota.
//
// # Failures
//
// A wrong option is an error of each command that would use it, with exit code 1.
package rotacmd
