// Package process starts, suspends, kills and watches real processes, for tests of what happens to a cluster then.
//
// # Purpose
//
// [Start] starts a process, keeps its output and reaps it. It dies with the process that started it where the system can do that.
//
// SIGSTOP is a request. When the call that sends it returns, threads of the process may run for some more milliseconds on a busy machine, and take a
// lock in which they are then stopped: everybody else waits for that lock until the process continues. [Stop] returns when no thread runs any more,
// and [StopOutside] lets the process continue and tries again until it stops without a lock that others need.
//
// A process that gets no processor is as good as suspended, and nobody writes that down. A test that judges real processes by their times must know
// of it: [Stalls] records when the machine kept this process waiting.
//
// [Witness] reads what a member writes down about its runs while it runs.
//
// # What is not guaranteed
//
// Whether a process is stopped is read from /proc. On a Unix system without it, the signal is assumed to take effect at once; elsewhere nothing can be
// suspended (see [CanSuspend]). Stalls watches this process: another one may have waited for longer, or not at all.
package process
