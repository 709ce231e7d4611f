//go:build !linux

package tasks

import "errors"

func bootTime() (int64, error) { return 0, errors.New("only Linux has a clock for this") }
