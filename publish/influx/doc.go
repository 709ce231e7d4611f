// Package influx publishes samples in the line protocol of InfluxDB.
//
// # Purpose
//
// [New] makes a sink for publish.NewBatcher that writes to InfluxDB 2 and 3 (/api/v2/write, with Options.Bucket), to
// InfluxDB 1 (/write, with Options.Database), and to what speaks the same: VictoriaMetrics, Telegraf, QuestDB. A sample
// is a measurement with its tags and one field, value.
//
// # Guarantees
//
// Those of publish.Batcher: at least once, in order, nothing lost in silence. A point that is sent twice is one point,
// as its series and time are the same.
//
// # What is not guaranteed
//
// The format cannot hold all names. Line ends and tabs are written as \n, \r and \t; a backslash before a comma, a
// space, an equals sign or the end is left out; a tag without a value is left out. Points that are not finite are left
// out; a sample without a point that can be held is dropped and counted.
//
// # Failures
//
// Statuses 408, 425, 429 and from 500 on are retried; others drop the batch. InfluxDB refuses a request with one wrong
// point by 400 though it takes the others: all its samples count as dropped then.
package influx
