// Package cluster holds the nouns of Rota and the value that all members agree on. Pure.
package cluster
