// Package worktest helps to test task types without a cluster.
//
// # Purpose
//
// [NewGrant] makes a grant whose [Host] keeps everything in memory: samples are collected, positions are kept and
// fenced by token as in the real supervisor, and the test decides whether the lease is valid. [Run] makes a type's
// Runner and calls it once.
//
//	g, host := worktest.NewGrant(t, work.Definition{Config: []byte(`{"addr":"127.0.0.1:1","allow":["127.0.0.0/8"]}`)})
//	err := worktest.Run(t, tasks.Builtin(tasks.Options{})["tcp"], g)
//	s := host.Last(t, "tcp.up")
//
// # What is not guaranteed
//
// It schedules nothing: the supervisor handles periods, time limits, back-off and panics, and its tests cover them.
package worktest
