//go:build !linux

package tasks

import "os"

func ofTheKernel(*os.File) bool { return false }
