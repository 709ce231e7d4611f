// Package laws holds the tests that guard the laws of the house: which package may import which, what pure code may not do, what must be
// documented. Each law is also run on a small file that breaks it, so that a law that cannot fail is noticed.
package laws
