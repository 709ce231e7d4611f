//go:build proof

package mutanttest

const built = true // with the build tag proof
