// Package storeurl reads the text that names a store.
//
// # Purpose
//
// One form for all stores:
//
//	file:DIR                          a directory of this machine
//	memory:                           inside one process
//	SCHEME://HOST[:PORT],HOST[:PORT]…/PATH[?KEY=VALUE&…]
//
// PATH is the place in the store that belongs to the cluster; clusters with different paths do not see each other. The
// keys that all servers take: user, password, tls, ca, cert, key, server-name, timeout. What only some take, and the
// ports where none is named, stands in a [Scheme].
//
// # Secrets
//
// A password or token is named, as env:NAME or file:/path, and never stands there itself: a URL is seen by everyone who
// may list processes, and is printed. Parse refuses one that does, without repeating it.
//
// # Failures
//
// Each error says which part is wrong and what to write instead. None contains a value of a parameter that may be
// secret.
package storeurl
