// Package protocoltest tells every protocol the same stories and expects the same promises.
//
// # Purpose
//
// Join, leave, crash, a store that is away for longer than the TTL, restart under the same name, cold restart of all,
// two joining at once, drain, rolling restart, a split while moving, many members. In every story a ledger watches that
// no partition runs twice at once under an at-most-one contract, and that tokens grow.
//
// On a store in memory stories take place in virtual time (Setup.Virtual): they take milliseconds, and no machine is
// too slow for them. On a real server they take real time.
package protocoltest
