package logdocs

import "errors"

// ErrDamaged reports that a snapshot of the documents cannot be read, or that records are missing from the log.
var ErrDamaged = errors.New("the documents are damaged")
