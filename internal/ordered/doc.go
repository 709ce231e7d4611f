// Package ordered has maps in order of key whose copies cost nothing.
//
// # Purpose
//
// A value that is folded from a log, or the state of a pure step, is copied with each change, and each copy stays what
// it was. A [Map] is a B+ tree of which copies share what they have in common. It decides nothing, and its order is
// that of the keys alone. What works on maps are functions, as in package slices: the compiler makes the methods of a
// generic type again in each package that knows a type with such a field (decision 129).
//
// # Concurrency
//
// A map that nobody changes may be read from any goroutine, and so may its copies. One that was sealed may be copied,
// and each copy be changed by another goroutine.
package ordered
