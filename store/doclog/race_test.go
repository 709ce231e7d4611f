//go:build race

package doclog

// underRace says that the race detector is on: it makes the exploration ten times slower, and finds nothing in it, since a process is one thread there.
const underRace = true
