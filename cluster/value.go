package cluster

// Value is the cluster: members, jobs, partitions and who owns what. It is immutable: Apply returns another one.
// The zero Value is the empty cluster. Safe for concurrent readers.
type Value struct{}
