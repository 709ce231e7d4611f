// Command loop consumes topics of Kafka with any number of processes on one machine.
//
// # Purpose
//
// It shows the Kafka loop: each partition of the topics is consumed by one process at a time, its position is kept in
// the cluster, and whoever takes over goes on from there. Here the work is a line for each record.
//
//	go run ./examples/loop -broker 19092 -topics orders -rate 50 &     # a broker in memory that makes records, to try it without Kafka
//	go run ./examples/loop -member a -brokers 127.0.0.1:19092 -topics orders &
//	go run ./examples/loop -member b -brokers 127.0.0.1:19092 -topics orders
//
// # Guarantees
//
// Each record is taken, in the order of its partition, whatever process is killed meanwhile. One that stops gracefully,
// by SIGTERM or ctrl-C, leaves nothing to be done twice.
//
// # What is not guaranteed
//
// What a killed process has taken since it saved its position last, a second ago at most, is taken again by the next
// owner, under a larger token. The broker in memory is a toy for tests: it forgets all when it ends.
package main
