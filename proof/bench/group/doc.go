// Group measures how long partitions of a Kafka consumer group have no owner when members are killed, as `rotachaos kills` does for Rota: five processes,
// kill -9 of one of them, or of two at the same instant, again and again.
//
// # What is compared
//
// The members are clients of github.com/twmb/franz-go, cooperative sticky, with the session timeout as long as Rota's TTL and a third of that between heartbeats,
// as Rota renews its heartbeat. The gap is from the instant of the kill until the last partition of the killed has been assigned to a member that lives, by what
// that member wrote down when it was told; fetching begins after that and is not counted. All processes of one machine share the clock.
//
// # What is not compared
//
// A consumer group has neither fencing tokens nor a member's own deadline: a member that is suspended goes on when it wakes up. Its partitions come
// with a log of their own, ours with a task. The broker must allow sessions that short (group.min.session.timeout.ms).
package main
