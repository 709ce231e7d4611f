// Package operate is what people may ask of a cluster: submit, update, kill and prune jobs, pause and resume them,
// drain and undrain members, unpark a task, ask for a round now, see to dead letters, change settings.
//
// # Purpose
//
// The library, the command and the HTTP API ask in the same way, and get the same answers. An [Operator] works at a
// [Cluster]: [Inside] a member, or [Outside] of all, by a client of the store. The caller puts an answer into words;
// what is done, and what is refused, is decided here.
//
// # A request
//
//	look at the value ──▶ decide ──▶ propose ──▶ accepted ──▶ journal
//	       ▲                │           │
//	       │                │           ├── the job has changed since the look: look again, up to 8 times
//	       └────────────────┼───────────┘
//	                        └── nothing to do, or refused
//
// Whatever submits or updates a job states what it has seen of it (cluster.Expected). So what others do between the
// look and the write is never undone: a job that somebody has killed meanwhile stays killed, and a definition that
// somebody has changed is not overwritten. Other requests say what shall hold from now on, whatever was before: a kill,
// a pause, a drain. They may be repeated.
//
// # Answers
//
//   - done: the cluster has accepted it, or it holds already ([Answer]);
//   - not done: [RefusedError], which is [ErrRefused], [ErrKilled] or [ErrOlder], or [InvalidError] where nobody had to
//     be asked;
//   - unknown: every other error. It may be done all the same, and all requests may be repeated.
//
// # Journal
//
// Each request that has changed something has one record, of kind asked, with who asked (journal.Record.By). Outside of
// a member it is written after the cluster has accepted, and a journal that does not take it makes no request fail:
// Answer.Unjournaled says so. What a source submits has records of its own.
//
// # Decisions
//
//   - A job of a task file is not killed while a living member declares its source: the source would submit it again
//     within seconds. The way out is to remove the file, to pause the job, or to prune the source where no directory
//     has the file: decision 76.
//   - A drain is kept beside the value, for the member's next start (decision 49). The document follows the cluster: it
//     is written after the drain was accepted, and removed after the undrain was.
//
// Package node carries out what is decided; package view shows it.
package operate
