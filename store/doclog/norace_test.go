//go:build !race

package doclog

const underRace = false
