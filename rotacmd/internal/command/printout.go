package command

import (
	"io"
	"os"
)

// printout is the standard output of a command. It keeps the first error: a command does not succeed where what it
// prints is not all there, such as in a file on a full disk.
type printout struct {
	to  io.Writer
	err error
}

func (o *printout) Write(b []byte) (int, error) {
	n, err := o.to.Write(b)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// written is the first error of the standard output.
func (e env) written() error {
	if o, ok := e.stdout.(*printout); ok {
		return o.err
	}
	return nil
}

// out is the standard output itself, for who sees to errors, or asks whether it is a terminal.
func (e env) out() io.Writer {
	if o, ok := e.stdout.(*printout); ok {
		return o.to
	}
	return e.stdout
}

// outFile is the standard output where it is a file, else nil.
func (e env) outFile() *os.File {
	f, _ := e.out().(*os.File)
	return f
}
