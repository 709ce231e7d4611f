// Package storerepair takes out of a log what ends every member that reads it.
//
// # Purpose
//
// An entry that switches on a format which this Rota does not know, and a snapshot that cannot be read, end every
// member. Nobody can pass them, and the store offers no way to remove one record. Repair folds the log without them,
// saves the value as a snapshot behind them, and trims the log.
//
// # Order
//
// First a backup file, then the snapshot, then the trim. After a crash in between the same repair can be started again.
//
// # What is not guaranteed
//
// What the entries that are left out said is lost. Where a newer Rota has written them for good reason, members of that
// Rota are the way on, not a repair.
package storerepair
