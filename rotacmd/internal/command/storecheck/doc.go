// Package storecheck finds out by doing whether a store can be used.
//
// # Purpose
//
// Most of what is wrong with a store shows only when it is used: a user who may read and not write, a server without
// the ability to watch, a disk that takes a second for each sync. Run does once what members do, and measures it.
//
// # What it leaves behind
//
// It works on a place of its own, which it leaves nearly empty; some keys stay. It must never be given the place of a
// cluster, whose log it would write to.
package storecheck
