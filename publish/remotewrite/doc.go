// Package remotewrite publishes samples by the remote write protocol of Prometheus.
//
// # Purpose
//
// [New] makes a sink for publish.NewBatcher that writes to Prometheus, Mimir, Thanos, VictoriaMetrics and others
// (version 1.0 of the protocol). A sample is a series: its name is the label __name__, its tags are the other labels.
//
// # Guarantees
//
// Those of publish.Batcher: at least once, in order, nothing lost in silence.
//
// # What is not guaranteed
//
// In names and labels other characters than letters, digits and _ (and : in names) become _. Where two tags become one
// label, the last one by its name stays. Tags without a value are left out. What the server refuses as out of order or
// too old is dropped with its whole batch, as the protocol has it.
//
// # Failures
//
// Statuses 408, 425, 429 and from 500 on are retried, after Retry-After; others drop the batch.
package remotewrite
