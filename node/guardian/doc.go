// Package guardian ends what a member leaves when its process dies: first the programs, then the session.
//
// # Purpose
//
// On a server, the session of a dead process lasts until its TTL has passed, and nobody may take over before that. A
// guardian is a small child of the member's process. It waits for the death of its parent, kills what the parent's
// programs have left, and ends the session, so that others take over at once, whatever the TTL.
//
//	parent:  g := guardian.Start(...)      the member's protocol tells it of each session: protocol.Config.Guard
//	child:   guardian.Child(open)          first thing in main; it returns false in every other process
//
// The child is the same program under another name. It keeps no connection and opens no port: it opens the store when
// its parent has died.
//
// # Guarantees
//
// The parent is dead only when two things agree: the end of the pipe to it has been closed, and the kernel says that
// its process has ended (pidfd, opened by the parent itself, so that the number of a process that is used again
// deceives nobody). A suspended parent is alive.
//
// A session is named by what no other session ever has: the id of a lease, id and password, the id in its documents. So
// a later start under the same name is safe from a late guardian, and to end a session twice does nothing. A session is
// ended only when no process of the parent's programs is left.
//
// While it waits it uses no processor, and less than 10 MB.
//
// # What is not guaranteed
//
// A guardian that dies, is suspended, or gets no processor does nothing: then the TTL holds, as it does for the loss of
// the machine or its network. A lost guardian is started again. One that is suspended keeps the lock of a session in a
// directory: then others wait for the TTL too.
//
// # Failures
//
// A store that does not answer is tried for a minute; the TTL has passed by then, as a rule. Programs that cannot be
// ended (another user's, or stuck in the kernel) leave the session to its TTL. There are guardians on Linux alone,
// since version 5.3.
//
// # Where it comes from
//
// The kernel drops the file locks of a dead process at once; this gives the same to sessions on servers. That the two
// witnesses of a death must agree is the same rule by which a watcher never relies on a hint alone.
package guardian
