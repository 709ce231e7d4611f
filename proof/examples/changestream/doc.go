// Command changestream reads a stream of changes whose partitions split and merge, with any number of processes. It is
// a test of the protocol sync.
//
// # Purpose
//
// It shows an input that divides itself, as change streams of databases do: a partition of the stream is a range of
// keys, and ends with the names of those that go on. The stream is made up, always the same one; each of its partitions
// is a partition of the task, with a position.
//
//	go run ./examples/changestream -member a -store kafka://127.0.0.1:9092/changes -out ./changes.txt &
//	go run ./examples/changestream -member b -store kafka://127.0.0.1:9092/changes -out ./changes.txt
//
// On Kafka the processes agree by the protocol sync: they are a consumer group. Without -store they meet in a directory
// of this machine.
//
// # Guarantees
//
// Every change is written to the output, one line each, whatever process is killed meanwhile. Under one token each
// change is written once. The changes of a key are written in their order: a partition begins when all that it
// continues have ended. When the stream has ended, each process reads the whole output and checks all that.
//
// # What is not guaranteed
//
// What was written behind the last saved position is written again, under a newer token. Readers of the output pass
// over it: it has a lower position.
//
// # Failures
//
// A process that was suspended may write a line after its partition went to another one. The line has the old token,
// and readers pass over it. A line that was cut, because its process was killed, has no end, and counts as not written.
package main
