// Package child starts servers that are processes of their own, for tests.
//
// # Purpose
//
// The servers of Elasticsearch, Kafka, PostgreSQL and ZooKeeper are programs of others. What their packages have in common is here: a process that dies with
// its test, the wait until it serves, files that Maven resolves once, and the verdict on a machine that lacks a server.
package child
