// Package literal holds models of two designs as their documents give them: the ring of watches of “cluster as a
// value” (the command reference and the examples of join and leave), and locks in documents that expire by the wall
// clock (the lock documents of “Elasticsearch cluster state”).
//
// Rota does both differently, and package check shows why: it walks all orders of a few events on the documents' rules
// and finds where they break. Each break is the shortest one. The pages in docs/decisions that print them are compared
// with what is found, so that they can't rot.
//
// A document leaves things open. Where it can be read in two ways the kinder reading is taken, unless a scenario says
// otherwise. All of it is test code.
package literal
