// Package supervisor runs the granted partitions of one member.
//
// # Purpose
//
// A protocol repeatedly announces which partitions this member should run ([protocol.Assignment]). [Supervisor] starts
// a [work.Runner] for each grant, ends its ctx when the grant ends, waits between failures, and reports what actually
// runs. Task types are Go values in a table ([work.Types]).
//
// # How it decides
//
// [Step] is pure: events in, effects out, time as data. [Supervisor.Run] feeds it and executes its effects. It is
// level-triggered: each assignment is compared with what runs, so a missed assignment does no harm.
//
//   - not assigned any more, another token, another definition: the run is stopped, and the next one begins only after
//     it has returned
//   - failed: reported with its attempt; when the grant returns with another attempt, the partition waits for the
//     back-off of [work.Retry], counted from the failure, and then starts. Parking is the cluster's decision: the
//     partition is no longer assigned
//   - lease expired: every run except those that keep running on store loss is stopped, and nothing starts; when the
//     lease is renewed, all return
//
// Periodic types share a timer wheel instead of one goroutine and ticker each. First rounds are spread over the period
// by a hash of the partition (over Config.MaxSpread at most). Later rounds follow the schedule strictly: a round that
// is due while the previous one still runs is skipped and counted. Errors of rounds do not fail the partition. They are
// journaled: the first of a series, then at growing intervals, and the recovery.
//
// # Guarantees
//
//   - Never two runs of one partition at once on this member, and no two rounds.
//   - A partition that is neither reported as active nor part of the assignment of the reported version does not run
//     and will not.
//   - No round begins after ValidUntil, by the suspend-aware clock read at that instant, even in a process that has
//     just been resumed.
//   - A panic of a runner is a failure of its partition ("panic: ...") and of nothing else.
//   - Run returns after all goroutines have ended, except runs that ignore their ctx for longer than the grace period,
//     which it names.
//
// # What is not guaranteed
//
// Code that ignores its ctx cannot be stopped. It stays reported as active, is journaled once after the grace period,
// and may overlap with the next owner once this member's lease has expired. A round or run in progress when the process
// is suspended continues after it resumes until it asks its ctx, or a ctx derived from it has heard of it; let the
// resource check the token.
//
// # Failures
//
// A task type that this member does not know, a definition that it cannot decode, a config that the type refuses: the
// partition is reported as failed and the reason is journaled. A position is written on condition of its version; a
// conflict or an unknown outcome is settled by reading back.
//
// # Where it comes from
//
// Reconciling instead of remembering is how Kubernetes' controllers work; the hierarchical wheel is that of Varghese
// and Lauck (1987); the stop before the lease ends follows Gray and Cheriton (1989).
package supervisor
