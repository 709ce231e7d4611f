package publish

import "context"

// Publisher takes samples to a sink. Publish never blocks: what does not fit into the bounded queue is dropped and counted.
type Publisher interface {
	// Publish queues samples; the caller must not change them afterwards. Safe from any goroutine.
	Publish(samples ...Sample)
	// Run sends until ctx ends, then flushes what is queued, within the publisher's own bound, and returns.
	Run(ctx context.Context) error
	// Stats returns the counters so far.
	Stats() Stats
}

// Stats counts samples.
type Stats struct {
	Queued  int64 `json:"queued"`  // waiting now
	Sent    int64 `json:"sent"`    // accepted by the sink
	Dropped int64 `json:"dropped"` // lost: queue full, or refused for good
	Errors  int64 `json:"errors"`  // failed attempts
}
