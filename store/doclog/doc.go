// Package doclog makes an ordered log out of versioned documents.
//
// # Purpose
//
// Some stores have documents and conditional writes, but no ordered records: search engines, object stores, cloud tables. [New] puts a log into
// the documents of any store.Docs, so that a protocol that needs a log runs on them too. It is not specific to a vendor.
//
// # State
//
//	#log/meta                      what is trimmed (base), what of it is removed (freed), and which snapshot counts; JSON
//	#log/e/00000000000000000017    the record at index 17: the name of its append, a checksum, its data
//	#log/s/<index>-<name>/<part>   a part of a snapshot
//
// Callers have all other keys. Keys below "#log" are refused, and omitted from List.
//
// # Why it is right
//
// It needs what package store promises of documents: linearizable Get, and conditional Put and Delete; List is only a hint. All fields of meta only grow.
//
// Dense. A writer creates a record at an index only if it knows that the log has reached the previous index, and only if no document is there; base is raised before
// anything is removed. So at any time there is a head h such that base+1 to h all exist, and nothing above h. A document at or below base is either not yet
// removed, or was created too late, by a writer that did not know of the trim; neither is read.
//
// Append creates the document after the last one that it knows. This creation orders appends: one succeeds, the others find the place taken and continue with
// the next. Then it reads meta. If base has not passed the index, the document was the first one there, and the append is done. If it has, then either
// the record was put where nobody will read it, or it was read, folded into a snapshot and trimmed between the two requests. The cases cannot be distinguished, so the
// outcome is unknown; a retry could add the record twice. This is rare, because meta is also read before: the log must be trimmed past our index within the call.
//
// Read gets documents in order up to the first missing one, at h+1, and then reads meta. If the documents are a store.GetMany, which keeps the
// order of its keys, one request does both: a read without news is one request. A known record cannot replace meta here: a trim removes records
// in parallel, and one may still be there when the next one is gone. If base is at most h now, h+1 was not missing because of a trim;
// so the log ended at h at that moment, and the page is consistent. If base has passed the first requested record, the result is
// ErrTruncated. The head is found from a remembered position by reading 1, 2, 4, ... records ahead, and then bisecting. A document that exists proves that the log has
// reached it, even one that was created too late, because those are below base.
//
// Lost answers. A create with an unknown outcome is repeated, the same document with the same name. At most one of the two can create it, and the document there
// afterwards shows whose it is: ours, or that of another writer, in which case ours can never appear (unless the index was trimmed: unknown). A change of meta is
// idempotent, so after a lost answer it is read and done again. What cannot be resolved, because the store stays unreachable or ctx
// ends, is store.ErrUnknown.
//
// Snapshots. The parts are written under a new name, then meta names them, in one step. Parts that meta does not name, at or before the index of the current
// snapshot, can never be named, and are removed after each save.
//
// Trim raises base in one step, and then removes what is at or below it: what a list shows, and, by name, the rest. The next Trim removes what a crash left
// and what was created too late.
//
// SeedLog creates a mark at index 1, as an append would: the first writer decides how the log begins. Then it raises base. Any handle that finds the mark finishes the seed.
//
// # Guarantees
//
// All of store.Log and store.Seeder, with dense indexes, on any store whose documents keep their contract. Any process may die between any two requests.
//
// # What is not guaranteed
//
// Speed. An append takes three requests, one after the other (meta, record, meta), and more with concurrent appends; one handle appends one record at a time. A
// protocol that puts many commands into a record, like replica, loses little. A read of n records takes n requests, up to [Options.Ahead] of them
// at once, and two more; with store.GetMany one for each Options.Ahead records. The limits of the documents apply too: read the comment of their package.
//
// # Failures
//
// An error of the documents is returned with the outcome that it proves for the call. [ErrDamaged]: another program removed or changed documents of the log. A
// document that was created too late by a process that died at once stays until a later Trim.
//
// # Where it comes from
//
// Conditional creation of the next numbered object is how Delta Lake and Apache Iceberg commit to object stores. Neither trims on its own.
package doclog
