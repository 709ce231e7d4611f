// Package tasks holds the task types that come with Rota.
//
// # Purpose
//
// [Builtin] returns the table of types that a member offers; there is no global registry. A user of the library may add
// types to it or remove some.
//
//	http     a web page or API answers as expected; latency by phase, days until the certificate ends
//	tcp      a port accepts connections and, if asked, talks as expected
//	dns      a name resolves as expected
//	tls      a certificate is valid and for how long
//	host     load, CPU, memory, swap, disks and network of the member's machine
//	scrape   samples from a Prometheus text page
//	tail     lines of log files, followed through rotation, position kept
//	exec     an allow-listed program; its output as samples
//	command  an allow-listed program, run once to its end: code 0 is done
//	noop     nothing, for load tests
//	witness  writes down when it acts, for tests of Rota itself
//
// # Guarantees
//
// A definition is checked in full when it is read, not when it runs: each fault is a *work.ConfigError that names the
// field and, if possible, what to try. A check that finds its target down emits <type>.up 0 and <type>.failure 1,
// tagged with a reason of a fixed set, and its round ends with the error, so the task is failing. A round that cannot
// look ends with an error too: a secret that cannot be read, an address that is refused. A round that is interrupted
// because its grant ended emits nothing.
//
// http, tcp, tls, scrape and dns with a server connect only to public addresses unless a CIDR allows more, see
// [Options]. The address is checked after name resolution, on connect, so neither redirects nor a name server that
// changes its answer can bypass the check.
//
// What a definition sends to one origin (headers, user and password, a body, a client certificate) does not follow a
// redirect to another. Secrets and certificates are read again in every round.
//
// # What is not guaranteed
//
// The address rule protects against mistakes and hostile servers, not against the authors of definitions: the field
// allow of a definition widens it, and references to secrets may name any variable or file of the member. No type uses
// a proxy from the environment.
//
// # Failures
//
// Every answer is bounded while it is read, see the limits in docs/guide/task-types.md, and every round in time: by
// Definition.TimeoutMS, else by the period or 10 s, whichever is shorter; for exec by the period. A command is bounded
// only by Definition.TimeoutMS. If its program fails, the task fails and is retried.
//
// # Where it comes from
//
// The check of the source document coalesce (a task run on one member that yields samples). Refusing internal addresses
// is the usual defence against server-side request forgery; NAT64 (RFC 6052), 6to4 (RFC 3056) and mapped addresses are
// judged by the IPv4 address inside.
package tasks
