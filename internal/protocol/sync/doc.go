// Package sync is the protocol on a topic and a group: membership is the group's, all else is said in one topic, in
// epochs.
//
// # Purpose
//
// Kafka decides who lives. The group's leader announces each generation as an epoch in the sync topic; there it counts.
// Each member reads the whole topic, and so holds the same value. What has no owner is placed by the same pure function
// in each of them; what has one is moved by its owner alone, which shares it with another member.
//
// # State
//
//	reading ──→ joining ──→ waiting ──→ joined ←─→ apart ──→ leaving ──→ gone
//	 (to the     (the group  (for an      │  ↑    (the group forms
//	  end, so     waits for   epoch that  │  │     another generation)
//	  prepared    others)     names us)   ↓  │
//	  first)                            removed (stops all that it ran, then joins as a new member of the group)
//
// Any phase ends in halted when going on would be wrong: the topic was rewritten, a newer format, the name is taken.
//
// # Messages
//
// Records in the sync topic, one for each entry, in the shape of the source document:
//
//	{"syncEpoch":"1.4/web-1", "taskID":"web-2-5f3e", "messageTimestamp":"2026-11-22T11:00:00.000Z",
//	 "connectorState":[{"taskID":"web-2-5f3e", "stateTimestamp":"...", "data":{"commands":[...]}, "share":{"partitions":[...]}}],
//	 "sequence":7, "format":6, "base":{"index":41,"chain":123}}
//
// A record says what its writer changes of its own state: data has the commands, share has what it gives away. After
// each epoch a member lists all that it owns, and later what others have shared with it. The group knows each member by
// what it says of itself in Join, and gets a heartbeat eight times in a TTL.
//
// # Guarantees
//
//   - At every index a partition has at most one granted owner, with a token that grows (G1).
//   - Epochs are ordered by (start, generation); one that comes late is refused. A start is counted when the group was
//     forgotten and begins with small generations again.
//   - An epoch moves nothing of those that it names. A join therefore stops nobody: the members share with the new one,
//     as their plans say.
//   - A share counts at its offset, if its target is in the present epoch; else it is void, and the owner keeps what it
//     has. What is on its way to a member that is lost goes on to another one.
//   - A member holds its grants until TTL(1−ρ) − margin after it sent the last Sync or Heartbeat that the group agreed
//     to. The group keeps it for the TTL after that call, so no generation without it is formed before (G2). A lease
//     that ran out begins again when the group agrees to a heartbeat: it was never without the member.
//   - After a crash the partitions have another owner within 2 TTL + TTL/8 + 2 polls + 4 round trips, and mostly within
//     the TTL: a second TTL is for a group that waited for the dead one in a change that was under way (G4). A graceful
//     leave is an entry, and waits for nobody.
//   - Everything is derived from the value and done again until the value agrees (G9).
//
// # What is not guaranteed
//
// Pools of slots: jobs that need them are refused. Nobody is asked whether it is alive but by the group: a broker that
// is frozen for the TTL stops all work (its members' leases end), and gives it back when it answers. A member that dies
// while the group forms a generation lets the others wait for it; their leases may end before, and they go on when the
// generation is complete. A Join that arrives after its sender has given it up counts as such a member.
//
// # Failures
//
// Topic away: the member goes on as long as the group agrees. Group away: it goes on until its lease ends. A leader
// that cannot write its epoch tries again; if it dies, the group elects another one, in a new generation. Unknown
// outcome of an append: the same record again, with the same sequence.
//
// # Where it comes from
//
// The source document "Scalability" of a connector for change streams (kafka-scalability), whose epochs have no order,
// whose states are ordered by clocks, and whose shares must be picked up: docs/decisions, 50 and 51, say what is done
// instead.
package sync
