// Package history decides from what was written down whether the promises G1–G6 were kept.
//
// # Purpose
//
// A history is a list of records of what members, a resource and a tormentor wrote down during one run: of a simulated
// cluster, or of real processes on one machine. [Decide] is a pure function of it. It knows nothing of protocols and
// stores: it can be wrong only about the promises.
//
// # What is decided
//
//	G1  tokens of a partition grow with each new owner, and a token has one owner
//	G2  runs of a partition overlap only where the earlier owner was suspended or killed; acts lie inside the run that did them
//	G3  a resource that refuses smaller tokens takes nothing from a former owner
//	G4  a partition is without a run for no longer than the bound
//	G5  an accepted partition runs at the end, or is removed, finished or parked
//	G6  each item of a finite partition that is finished was done at least once
//
// # What is not guaranteed
//
// What nobody wrote down was not seen. The bound of G4 counts again when the owner itself, or the member that the
// partition has just been granted to, fails: the promise is about one failure. Excused spans (the store away, no live
// member) are taken from the caller on trust; they stand in the report.
package history
