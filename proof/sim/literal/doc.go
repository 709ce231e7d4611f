// Package literal holds models of two designs as their documents give them: the ring of watches of “cluster as a
// value”, and locks in documents that expire by the wall clock.
//
// # Purpose
//
// Rota does both differently, and package check shows why: it walks all orders of a few events on the documents' rules
// and finds where they break. All of it is test code.
//
// # Guarantees
//
// Each break is the shortest one. The pages in docs/decisions that print them are compared with what is found, so that
// they can't rot.
//
// # What is not guaranteed
//
// A document leaves things open. Where it can be read in two ways the kinder reading is taken, unless a scenario says
// otherwise.
//
// # Failures
//
// None: they are models.
//
// # Where it comes from
//
// The command reference and the join and leave examples of “cluster as a value”; the lock documents of “Elasticsearch
// cluster state”.
package literal
