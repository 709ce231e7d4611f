//go:build !proof

package mutanttest

const built = false // with the build tag proof
