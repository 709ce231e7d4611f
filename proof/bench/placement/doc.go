// Placement plans the same change with Rota and with a peer, in one run on one core, and prints the medians and the moves of both.
//
// # What is compared
//
// The peer is the cooperative sticky balancer of github.com/twmb/franz-go, through its public interface: the plan that the leader of a
// Kafka consumer group makes. Two figures are given for it: all it does for a plan (it decodes what each member says it owns, then
// balances), and the balancing alone. Rota's figure from scratch builds its view from flat arrays and plans; the incremental one plans on
// a view that is kept up to date, which is what a member of a cluster does. The ratio is the one least in our favour: Rota from
// scratch against the balancing alone.
//
// Moves are partitions that had a live owner and lose it. The peer's plan is the whole assignment, ours is what changes: that is part of
// why ours costs less, and so is that Rota gets its items in order of ID, as its value keeps them.
//
// # What is not compared
//
// The peer knows neither weights nor labels, capacities, pins and draining, so the input has none. Its members name topics and
// partitions; ours has one class with as many items.
package main
