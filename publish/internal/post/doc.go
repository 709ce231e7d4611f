// Package post sends batches to sinks that speak HTTP.
//
// # Purpose
//
// Each of them sends one body to one address, with a login, and reads from the status whether the server has it, may
// have it later, or never will.
//
// # Guarantees
//
// A request is sent once: there are no hidden retries and no redirects. An error has neither the query of the address
// nor a secret, and at most a line of what the server said.
//
// # What is not guaranteed
//
// Where the answer is lost nobody knows whether the server took the batch: it is one to retry.
//
// # Failures
//
// Statuses 408, 425, 429 and those from 500 on, but 501 and 505, are to be retried, after Retry-After where the server
// says one. Other ones than 200 to 299 are final.
package post
