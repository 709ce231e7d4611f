// Package fence makes resources refuse the writes of former owners.
//
// # Purpose
//
// A process can be suspended at any instruction, and write hours later as if it still had the lock or the partition. No
// check in that process can prevent it; the resource can, by the token: each owner's is larger than those of all
// before. Tokens are those of a lock ([github.com/rota-run/rota/lock.Held.Token]) or a task
// ([github.com/rota-run/rota/work.Grant]).
//
//   - [SQL]: a transaction of PostgreSQL, SQLite, or another database with their INSERT … ON CONFLICT.
//   - [Elastic]: a document of Elasticsearch or OpenSearch.
//   - [WriteFile], [ReadFile]: a file, also on a network file system.
//   - [Header], [Handler]: requests over HTTP.
//
// # Guarantees
//
// What a former owner writes after its successor has written comes to nothing, whenever it resumes. What it writes
// before that counts: a resource can't know of an owner that has not written yet.
//
// # Concurrency
//
// All functions may be called at the same time.
package fence
