// Package idle counts what a cluster that has nothing to do asks of its store.
//
// # How
//
// All members are in this process, each a node with a store handle of its own: what a server sees is the same as with as many processes. They join,
// a job of so many partitions is submitted, and when each partition runs, and has run for two TTLs, requests are counted over a while.
//
// # What is counted
//
// Messages that the server got, by its own count: etcd's grpc_server_msg_received_total, NATS' in_msgs, Elasticsearch's counts of its routes, what ZooKeeper calls received packets (pings
// included). The stores without a server count calls of their handles.
//
// # What it is compared with
//
// The goal is members × 3 / TTL for the heartbeats, and one request for each member and second for all the rest, whatever the number of partitions. Under the
// protocol lease it is one for each member and poll, and three more for the leader.
package idle
