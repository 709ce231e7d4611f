// Command s3 counts the bytes of every object of a bucket, once, with any number of processes on one machine.
//
// # Purpose
//
// It shows the S3 loop: one process lists the bucket, a window of objects at a time, and all of them work on the
// objects.
//
//	go run ./examples/s3 -gateway 9000 -objects 1000 &     # a gateway in memory with objects, to try it without S3
//	go run ./examples/s3 -member a -endpoint http://127.0.0.1:9000 -place s3://logs/ &
//	go run ./examples/s3 -member b -endpoint http://127.0.0.1:9000 -place s3://logs/
//
// Without -endpoint it asks S3, with the credentials and in the region of the environment.
//
// # Guarantees
//
// Each object that is there when the listing comes to its name is counted, whatever process is killed meanwhile.
//
// # What is not guaranteed
//
// An object whose run was cut, because its process was killed before the cluster had heard that it was done, is counted
// again, under a larger token: a line is no result that an old token could not overwrite.
//
// # Failures
//
// An object that can't be read is tried again, ten times; then it is parked and the job waits: rota task list shows it,
// and why.
package main
