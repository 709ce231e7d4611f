// Package group decides about a group of members, as a broker of Kafka does: who is in it, who leads it, and which generation it is.
//
// # Purpose
//
// [Group] is pure: calls in, answers out, time as data. The store in memory and the simulator run it.
package group
