//go:build !linux

package tasks

import (
	"context"
	"errors"
	"io"
)

const execSupported = false

func runProgram(context.Context, execConfig, []string, io.Writer, io.Writer) (execEnd, error) {
	return execEnd{}, errors.New("programs can only be run on Linux")
}
