// Command loop downloads the files of a bucket into queues, with any number of processes on any store.
//
// # Purpose
//
// It is the loop of the source document elasticsearch-cluster-state, on the documents of that store: processes are
// alike, one of them leads, waits for idle workers, gives each a file, marks a worker dead that failed or was late,
// and puts its file back. The bucket is a directory here.
//
//	go run ./examples/loop -store elastic://127.0.0.1:9200/loop -member a -in ./photos -out ./queues &
//	go run ./examples/loop -store elastic://127.0.0.1:9200/loop -member b -in ./photos -out ./queues
//
// # Guarantees
//
// Each file that is there when a leader begins is in the queue of a worker when all processes have ended without an
// error, whatever process was killed meanwhile: if it was a worker, its file is given to another one; if it led,
// another process does, with the files that are not done.
//
// # What is not guaranteed
//
// A file whose worker was killed or was late may be in two queues, and so may one that is on its way when the leader
// is lost.
//
// # Failures
//
// A worker that cannot read a file or write its queue is marked dead, and stays so until rota member undrain. When
// all are, the loop waits. An error of the store ends the process; another one leads.
package main
