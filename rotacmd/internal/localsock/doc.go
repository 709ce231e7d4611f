// Package localsock lets a command ask the members that run on the same machine and meet in the same directory.
//
// # Purpose
//
// A member has the value of the cluster in memory. A command that reads the store must rebuild it, which takes up to
// 0.3 s of processor time with 100,000 tasks. That is slow on a machine whose members are busy. Asking one of them is
// cheap.
//
// # State
//
// A socket for each member, DIR/members/HASH.sock, where HASH is made of the member's name. A member that was killed
// leaves its socket; the next one that listens removes it.
//
// # Guarantees
//
// Only the owner of the store can ask and answer: the directory of the sockets must have mode 0700 and the same owner
// as the store's directory, or it is not used. A member that is suspended delays an answer by 100 ms: then the next one
// is asked too.
//
// # What is not guaranteed
//
// That there is an answer: the caller must have another way. On systems without /proc there is none where the path of
// the directory is too long for a socket, and on systems other than Unix there never is.
//
// # Failures
//
// [ErrNobody]: no member answered. Why does not matter to a command that reads the store then.
//
// # Where it comes from
//
// Sockets with the rights of files are how local tools ask daemons: unix(7).
package localsock
