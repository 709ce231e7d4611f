// Package worktest helps to test task types without a cluster.
//
// # Purpose
//
// [NewGrant] makes a grant whose [Host] keeps everything in memory: samples are collected, positions are kept and fenced by token as
// the real supervisor does, trust is switched by the test. [Run] makes a type's Runner and calls it once.
//
//	g, host := worktest.NewGrant(t, work.Definition{Config: []byte(`{"addr":"127.0.0.1:1"}`)})
//	err := worktest.Run(t, tasks.TCP(), g)
//	s := host.Last(t, "tcp.up")
//
// # What is not guaranteed
//
// Nothing is scheduled: periods, time limits, back-off and panics are the supervisor's business and are tested there.
package worktest
