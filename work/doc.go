// Package work runs what was granted: the supervisor of one member.
//
// # Purpose
//
// A protocol says, again and again, which partitions this member should be running ([protocol.Assignment]). [Supervisor] makes that so:
// it starts a [Runner] for each grant, ends its ctx when the grant goes, waits between failures, and reports what really runs. Task
// types are Go values in a table ([Types]); package worktest helps to test them.
//
// # How it decides
//
// [Step] is pure: events in, effects out, time as data. [Supervisor.Run] feeds it and does what it says. It is level-triggered: each
// assignment is compared with what runs, so an assignment that was never seen is not missed.
//
//   - not assigned any more, another token, another definition: the run is stopped, and only after it has returned the next begins
//   - failed: reported with its attempt; when the grant comes back with another attempt it waits the back-off of [Retry], counted from
//     the failure, then starts. Parking is the cluster's decision: the partition is no longer assigned
//   - trust ended: every run but those that keep on store loss is stopped, nothing starts; with trust renewed all come back
//
// Periodic types share a timer wheel instead of a goroutine and a ticker each. First rounds are spread over the period by a
// hash of the partition (over Config.MaxSpread at most), then come strictly by schedule: a round that is due while the one before still runs is skipped and
// counted. The errors of rounds do not fail the partition; they are journaled: the first of a row, then at growing intervals, and the end.
//
// A [Partitioner] is a Runner that lists inputs and keeps a window of them as partitions of its task. What it lists, and when it writes a step, is decided in
// a pure function as well.
//
// # Guarantees
//
//   - Never two runs of one partition at once on this member, and no two rounds.
//   - A partition that is reported neither as active nor in the assignment of the reported version does not run and will not.
//   - No round begins after TrustUntil by the suspend-aware clock read at that instant, also in a process that has just been woken.
//   - A panic of a runner is a failure of its partition ("panic: ...") and of nothing else.
//   - Run returns after all goroutines have ended, but for runs that ignore their ctx longer than the grace period, which it names.
//
// # What is not guaranteed
//
// Code that ignores its ctx cannot be stopped. It stays reported as active, is journaled once after the grace period, and may overlap with the next
// owner once this member's lease has ended. A round or run that is under way when the process is suspended goes on for a moment after waking, until
// the loop has looked at the clock; ask [Grant.Trusted], or let the resource check the token.
//
// # Failures
//
// A task type that this member does not know, a definition that it cannot decode, a config that the type refuses: the partition is reported as failed
// and the reason is journaled. A position is written under a condition on its version; a conflict or an unknown outcome is settled by reading back.
//
// # Where it comes from
//
// Reconciling instead of remembering is how Kubernetes' controllers work; the hierarchical wheel is that of Varghese and Lauck (1987);
// the stop before the lease ends follows Gray and Cheriton (1989).
package work
