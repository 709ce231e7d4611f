// Package demo starts three members, as real processes or inside this one, does to them what happens to processes, and
// measures what became of their tasks.
//
// # Purpose
//
// `rota demo` shows within a minute what Rota promises, on your machine, and fails where a promise is not kept.
//
// # State
//
// A temporary directory holds the store, the task files, and for each member a log and a witness file: one line for
// each start and stop of a task, by a clock that all processes share. Nothing is measured by the members about
// themselves but those lines; see [Judge].
//
// # Members inside this process
//
// On a store in memory the members are inside this process: each a whole node, as rota run makes one, with a handle of
// its own. A goroutine can be neither killed nor suspended from outside, so something else is done to them:
//
//   - crash: the member loses the store and finds that out at once, its tasks are ended, and it leaves without a word.
//     Then its handle falls, and only then others see it die: tasks that can't be killed would else act for a moment
//     behind their owner's death, which no process does. The gap counts from the loss, so the time that the end of the
//     tasks takes is in it; whether they overlap with others is judged by their real ends.
//   - suspension: the store does not answer the member any more. Its session stays, as that of a process that stands
//     still, so others notice by the silence of its heartbeat. Its tasks go on, which is stricter than SIGSTOP: the
//     member must stop them by its own clock before others start them. [Judge] cuts nothing there. Overlaps are counted
//     as they were, the gap is from its own stop to the start elsewhere, and the silence is told and bounded besides.
//     When it is let go on, it finds itself removed and rejoins.
//   - leave: the end of its ctx, which is what SIGTERM ends in a process.
//
// # What is not guaranteed
//
// The bounds are for a machine that is not overloaded. A member that is suspended in the millisecond in which it holds
// the file store's write lock keeps the others from writing until it goes on: then the demonstration fails, and says
// so. Members inside one process share its scheduler: what a suspended one does because it got no turn to stop it, for
// more than 15 % of a TTL, counts as an overlap too.
package demo
