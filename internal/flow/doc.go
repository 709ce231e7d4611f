// Package flow decides how segments go through a workflow: pure functions that the runner of stages, the queues and the
// model checker share.
//
// # Purpose
//
// A [Graph] says which shards a flow has. [Step] is the life of one worker of a task: what it asks for, and when it may
// seal what comes after, call the task complete, and end. [Hold] is back-pressure, and [FateOf] says what becomes of a
// message that fails.
//
// # Guarantees
//
// The end is right: a task seals its egress when all shards of its ingress are drained, which means that they are
// sealed and that each message in them is acknowledged; what is acknowledged was committed before. So nothing comes
// after a seal, and what was stored before it is committed. A worker ends when the task is complete, and not earlier,
// since another one may fail to get there. All of it may be done by every worker, any number of times, in any order:
// each is done once.
//
// The tests walk every order of events of two stages with two shards and two workers each, with crashes, lost answers,
// late commits and leases that end too early, and lay flaws over this package that the walk must find.
//
// # What is not guaranteed
//
// A function may run more than once for a segment; its outputs count once. Segments come in no order, but those that
// one worker gets from one shard come in theirs.
//
// # Failures
//
// None: nothing here acts. A call whose outcome is unknown is an event, and is answered by looking again.
//
// # Where it comes from
//
// The sentinels of Onyx circulate in the queues, are counted and elected; they may be lost, doubled or overtaken.
// Positions replace them: a seal is a place in a shard, and to be drained is a fact about the messages before it.
package flow
