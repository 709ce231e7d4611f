// Package quickstart holds the task files of the first minute, so that the binary can demonstrate them.
package quickstart

import "embed"

// Files are the task files, below "tasks".
//
//go:embed tasks
var Files embed.FS
