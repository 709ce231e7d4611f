// Package kinesis reads streams of Amazon Kinesis with the members of a cluster: each shard by one
// member at a time, from a position that is saved.
//
// # Purpose
//
// [NewType] makes a task type of a function that takes records, [Task] a task of it for some
// streams. Each shard is a partition of the task:
//
//	orders := kinesis.NewType("orders", kinesis.Records{
//		Take: func(ctx context.Context, g *rota.Grant, records []types.Record) error { … },
//	})
//	m, err := rota.Join(ctx, rota.Config{Member: "a", Store: s, Types: []rota.Type{orders}})
//	err = m.Submit(ctx, "orders", kinesis.Task("orders", kinesis.Config{Region: "eu-north-1"}, "orders"))
//
// # Guarantees
//
// Each record that the stream still has is taken, whichever member dies. Under one token each
// record is taken once. The records of a partition key are taken in their order, also when shards
// split and merge: a shard is read when all that it continues have been read to their ends and been
// reported as finished.
//
// # What is not guaranteed
//
// What was taken behind the last saved position is taken again, under a larger token. Records that
// the stream has dropped, because they became older than it keeps them, are not taken, and nothing
// tells that they were there: look at the sample kinesis_behind_ms. Records that the Kinesis
// Producer Library has put together come together. There is no enhanced fan-out.
//
// # Failures
//
// An iterator that has expired is asked for again, behind the position. When a stream is asked too
// often, it is asked again after a growing pause of at most 10 s, counted in the sample
// kinesis_throttled. All else fails the partition, which is tried again with back-off; the error
// says what to try. No credential is in the cluster, in an error or in a log.
//
// # Cost
//
// A shard costs one GetRecords each [Config].Poll, five a second while it has records; its end one
// ListShards for each thousand shards of the stream; and each call of Take one write of a position.
// A finished shard stays in the cluster for as long as other finished partitions do (decision 102).
//
// # Where it comes from
//
// The source document kafka-scalability reads change streams so. The rules are compared with those
// of the Kinesis Client Library 3 in the guide.
package kinesis
