// Package stage runs the stages of flows: task types whose tasks hand segments to each other through queues.
//
// # Purpose
//
// A flow is a job whose tasks are stages: an input reads segments from somewhere, a stage makes segments of segments,
// an output takes them somewhere. Each run of a stage is one slot of a task of spread pool. It receives batches from
// the shards of its ingress, applies its function, and commits what comes out: outputs stored and inputs acknowledged
// as one fact.
//
// # Guarantees
//
// At least once for the function, once for what it puts out. A run ends well when its task is complete: all that comes
// to it was committed, and what comes after it is sealed. Package flow decides, and says why that is so under any
// crash.
//
// A keyed stage keeps state for each shard of its ingress. The state is a message of the flow: its receiver owns the
// shard, and the next state is committed together with what came of the segments, so that each segment is in the state
// once.
//
// A segment on which the function fails is tried again, then by itself, and then becomes a dead letter: a message with
// the segment and the error, in a shard of the flow. It is never dropped.
//
// # What is not guaranteed
//
// Segments come in no order, but those of one shard in theirs. A function may see a segment twice, on two members at
// once.
//
// # Failures
//
// While the store is away, or has no space, a run waits and tries again. What the store never takes, because it is too
// large, becomes a dead letter. A flow that was dropped, or has other edges than when it began, fails the run.
package stage
