// Package file tests the file store with several processes, which are killed and suspended, and with TTLs in real time.
package file
