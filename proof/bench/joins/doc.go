// Package joins measures how long a member takes to join a cluster with a long log, on each kind of store. It has a benchmark and nothing else.
package joins
