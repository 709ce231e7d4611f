// Package elastic publishes samples to Elasticsearch and OpenSearch.
//
// # Purpose
//
// [New] makes a sink for publish.NewBatcher that writes a document for each point by the bulk API: {"@timestamp": ms,
// "name": …, "value": …, "tags": {…}}, to a data stream, an index or an alias.
//
// # Guarantees
//
// Those of publish.Batcher: at least once, in order, nothing lost in silence. Each document is created under an _id
// that follows from its series and its time, so that a batch that is sent twice makes no second document in one index.
// Each item of the answer is looked at: one that is refused is dropped and counted, one that the server has no room for
// now is sent again, alone.
//
// # What is not guaranteed
//
// A data stream checks an _id in its newest index only: a batch that is sent again across a rollover is there twice. Of
// two values of one series and one millisecond the first stays.
//
// # Failures
//
// Of requests and items: statuses 408, 425, 429 and from 500 on are retried, 409 is success, others are final. Fields
// are mapped by the server: two tags "a" and "a.b" exclude each other, and the second one is refused, unless a template
// maps tags as flattened.
package elastic
