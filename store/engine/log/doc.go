// Package log makes the ordered log of package store out of the rows of a store.
//
// # Purpose
//
// A store that orders nothing by itself has rows with conditional writes. [Log] keeps an order in one of them, the
// head, which holds the newest records too ("tail"): an append is one request, and a look at a log without news is one
// row. Records leave the head by pages. A store that writes several rows in one swap keeps each record in a page of its
// own instead, which is written with the head ("with"). The rest is the same. A store that orders logs by itself has a
// [driver.Journal]: there the records, their order and their beginning are its own, and only snapshots are rows.
//
// store/etcd and store/zookeeper are on it, with records beside the head, store/elastic, with records in it, and
// store/nats, store/postgres, store/kafka and store/file with a journal.
//
// # State
//
//	l/<log>/head                         base, cut, freed, seed, and the records behind cut
//	l/<log>/p/<20 digits>                a page: the records up to this index, a multiple of the page's size
//	l/<log>/b/<20 digits>-<name>         a blob: a large record, written when the log was at this index
//	l/<log>/snap                         which snapshot counts
//	l/<log>/s/<20 digits>-<name>/<part>  a part of a snapshot
//
// # Why it is right
//
// Order. Every change of the log is a swap of the head, and versions never come back, so the heads form one sequence.
// Indexes are dense behind base.
//
// Append. Who finds a page's worth of records in the head writes the page first; then his swap drops them from the head
// and adds his own. Until the swap nobody looks for the page. All write the same bytes: a page that is there already is
// as good, and one that comes late is below base or the same.
//
// Callers of one handle share a swap: those that come while one is under way are in the next one, up to 16, or 64 where
// records go with the head; it waits a little for those who come back with their next record (package crowd). The rest
// of the log has no goroutine.
//
// Contests. Handles compete for the head, and each swap sends all of it. Whose swap was refused waits for a few
// requests' time, up to 16 after more losses, and reads the head anew. So the bytes of an append hardly grow with the
// handles. The price is turns of very different length: who wins goes on while the others wait.
//
// Lost answers. A swap that is refused after an answer was lost was done before, or never will be. Its records would
// stand at known indexes: what stands there tells by its name. If that page was freed, nothing can tell, and the
// outcome is store.ErrUnknown. Decision 24's other case, a record that is put below base, does not exist: base is in
// the row that is compared.
//
// Read. Pages come before the head in one request. A page that a head has cut off was written before, and is removed
// after a later head has raised base; so a page that is missing was trimmed if the head behind it says so, and else the
// log is damaged. Where a range is a list of names, records are read by their keys: those that a head names which has
// just been read may be as old as they are, since none is changed; one that is missing there is looked for anew.
//
// Blobs are written before the append whose records they are, and may be used at most 64 indexes behind the one in
// their key. The head that is swapped says at which index the append will stand, and that base is below it; so who
// frees blobs 64 below base frees none that is used, or will be.
//
// Trim raises base by a swap, then frees the pages below. What a crash leaves, or what comes late, is freed by a later
// trim; what is written with the head cannot come late. SeedLog is a swap of an empty head. A snapshot's parts are
// written under a new name, then the pointer names them; other parts at or before it can never be named, and are freed.
//
// Journal. An append is one request of the store, and is never sent again: nothing in it tells whose a record is, so
// what is unknown stays so. Callers share a request of up to a MiB, or what the store takes, where the journal takes
// several records at once, and do not wait for each other where it takes one. Trim asks which snapshot counts, and
// frees no record behind it: the pointer is what states that records may go. SeedLog begins an unused journal; a
// snapshot says that it is in use.
//
// # Guarantees
//
// All of store.Log and store.Seeder, on a driver that keeps its promises. Any process may die between any two requests.
//
// # What is not guaranteed
//
// Progress of one handle among many that append at once: some handle appends, but it may be another one each time, or
// the same one for hundreds of times.
//
// # Failures
//
// [ErrDamaged]: another program removed or changed rows of the log.
package log
