//go:build race

package call

// underRace says that the race detector is on: it makes a walk many times slower, and finds nothing in what is pure.
const underRace = true
