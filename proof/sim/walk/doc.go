// Package walk walks every interleaving of a few members of any protocol.
//
// The simulator draws runs by chance; this package leaves none out, within bounds. It runs the real step function and
// the real calls of a [machine.Machine] over a model of the store and of the supervisor, and asks after every move
// whether a promise is broken. What differs between protocols is in their [Rules].
//
// A complete walk without violations proves G1, G2, that tokens grow, that nobody works before it is joined, that
// nobody halts, and that from every state a good end can be reached, for the given members and faults and the moves of
// [Model.Next].
//
// Time is abstract: clocks stand still, but that a member which loses its session while it lives finds its own clock
// beyond its lease when it goes on, as a store with sessions and the bound on clocks' rates give it. Clocks that drift,
// silent heartbeats, snapshots and truncation belong to the simulator. What nobody else can observe happens at once:
// the first read of the log, calls that the rules name, the supervisor's answer.
//
// Where the rules say so, a walk begins when all members have joined, one after the other: how members start at the
// same time, and what one does that looks again after some time, then belongs to the simulator. Members are told of
// every change; with Prompt they are told, and read what has changed, before anything else happens, so that only writes
// that are under way grow old.
package walk
