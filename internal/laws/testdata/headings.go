// want: # Guarantees

// Package replica says nothing.
package replica
