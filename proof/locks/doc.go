// Package locks tests locks with holders in processes of their own, which are killed and suspended.
package locks
