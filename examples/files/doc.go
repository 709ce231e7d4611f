// Command files works on every file of a directory, once, with any number of processes on one machine.
//
// # Purpose
//
// It shows a partitioned and windowed input: one member lists the directory, a window of files at a time, and all
// members work on them. Here the work is a SHA-256 of each file, written beside nothing else into the output directory.
//
//	go run ./examples/files -member a -in ./photos -out ./sums &
//	go run ./examples/files -member b -in ./photos -out ./sums
//
// # Guarantees
//
// Each file that is there when the listing comes to its name is done, whatever process is killed meanwhile. A result is
// written whole, under the token of who wrote it, and never over a result of a newer owner.
//
// # What is not guaranteed
//
// A file whose run was cut, because its process was killed between writing the result and telling the cluster, is done
// again. Files whose names sort before those listed already are not seen: start another pass, with another -job.
//
// # Failures
//
// A file that cannot be read is tried again, five times; then it is parked and the job waits: rota task list shows it.
package main
