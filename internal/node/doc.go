// Package node is the shell of one member: it joins protocol, supervisor, sources, journal and publishers, and ends
// them in order.
//
// # Purpose
//
// The binary and users of the library run a Node. It decides nothing about the cluster: the value does; and it shows
// nothing: package api does.
//
// # Leaving
//
// When ctx of Run ends the node drains: its partitions move away under their hand-over contracts, at most for
// Config.DrainTimeout. Then its work stops and it leaves the cluster, its samples and records are flushed, and Run
// returns.
package node
