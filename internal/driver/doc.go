// Package driver has what the drivers of stores share.
//
// # Purpose
//
// A driver knows its server. What an error means to a caller who has three outcomes to tell apart, what it says of the call that failed, and how the
// records of concurrent callers share one request, is the same for all servers, and is here once.
//
// # Concurrency
//
// A [Queue] may be used by any number of goroutines; one of them takes from it.
package driver
