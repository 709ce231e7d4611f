//go:build !race

package call

const underRace = false
