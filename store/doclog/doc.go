// Package doclog makes an ordered log out of versioned documents.
//
// # Purpose
//
// Some stores have documents and conditional writes, but nothing that orders records: search engines, object stores, tables of a cloud. [New] puts a log into
// the documents of any store.Docs, so that a protocol that needs a log runs on them too. Nothing of it is special to a vendor.
//
// # State
//
//	#log/meta                      what is trimmed (base), what of it is removed (freed), and which snapshot counts; JSON
//	#log/e/00000000000000000017    the record at index 17: the name of its append, a checksum, its data
//	#log/s/<index>-<name>/<part>   a part of a snapshot
//
// Callers have all other keys. Those below "#log" are refused, and left out of List.
//
// # Why it is right
//
// It needs what package store promises of documents: linearizable Get, and conditional Put and Delete; List is a hint only. All of meta only grows.
//
// Dense. A record is created at an index only by who knows that the log has reached the one before, and only if no document is there; base is raised before
// anything is removed. So at any time there is a head h such that all of base+1 to h exist, and nothing above h. A document at or below base is one that is still to be
// removed, or was created too late, by who had not heard of the trim; nobody reads either.
//
// Append creates the document behind the last one it knows of. Creating it is what orders appends: one succeeds, the others find the place taken and go on to
// the next. Afterwards it reads meta. If base has not passed the index, the document was the first one there, and the append is done. If it has, then either
// the record was put where nobody will look, or it was read, folded into a snapshot and trimmed, in the time between two requests: nobody can tell, so the outcome is
// unknown. To append it again would add it twice. That is rare, since meta is also read before: the log must be trimmed past our index within the call.
//
// Read gets documents in order up to the first that is missing, at h+1, and then reads meta. Where the documents are a store.GetMany, which keeps the
// order of its keys, one request does both: a look at a log without news is one request. The known record in place of meta would not do: records are
// removed several at once, and one may still be there when the next one is gone. If base is at most h now, h+1 was not missing because it was
// trimmed; so the log ended at h at that moment, and the page is what it was then. If base has passed the first record that was asked for, the answer is
// ErrTruncated. The head is found from a remembered position by looking at 1, 2, 4, ... records ahead, and then halving; a document that exists proves that the log has
// come so far, also one that was created too late, since those are below base.
//
// Lost answers. A create whose outcome is unknown is sent again, the same document with the same name. At most one of the two can create it, and what
// stands there afterwards tells whose it is: ours, or that of another, behind whom ours can never come (unless the index was trimmed: unknown). A change of meta is a
// function that does nothing the second time, so after a lost answer it is read and done again. What cannot be resolved, because the store stays away or ctx
// ends, is store.ErrUnknown.
//
// Snapshots. The parts are written under a new name, then meta names them, in one step. Parts that meta does not name, at or before the index of the one that
// counts, can never be named, and are removed after each save.
//
// Trim raises base in one step, and then removes what is at or below it: what a list shows, and, by name, whatever of it the list did not show. What a crash leaves,
// and what was created too late, the next Trim removes.
//
// SeedLog creates a mark at index 1, as an append would: the first to come decides how the log begins. Then it raises base. Who finds the mark finishes the seed.
//
// # Guarantees
//
// All of store.Log and store.Seeder, with dense indexes, on any store whose documents keep their contract. Any process may die between any two requests.
//
// # What is not guaranteed
//
// Speed. An append takes three requests, one after the other (meta, record, meta), and more where several append at once; one handle appends one record at a time. A
// protocol that puts many commands into a record, as replica does, loses little by that. A read of n records takes n requests, up to [Options.Ahead] of them
// at once, and two more; with store.GetMany one for each Options.Ahead records. What the log does not have, the documents do not have: read what their package says.
//
// # Failures
//
// An error of the documents is passed on with the outcome that it proves for the call. [ErrDamaged]: somebody else removed or changed documents of the log. A
// document that was created too late by a process that died at once stays until a later Trim.
//
// # Where it comes from
//
// Conditional creation of the next numbered object is how Delta Lake and Apache Iceberg commit to object stores. Neither trims by itself.
package doclog
