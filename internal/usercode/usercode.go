// Package usercode calls functions of users: they may panic, or end their goroutine, and that must cost the member
// nothing but their result.
package usercode

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// Panic is the error of a function that has panicked.
type Panic struct {
	Value any
	Stack []byte
}

// Error implements error, without the stack.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// ErrGoexit is the error of a function that has ended its goroutine.
var ErrGoexit = errors.New("the function ended its goroutine with runtime.Goexit: return instead")

// Call calls f and then, once, done: with the error of f, a [*Panic], or [ErrGoexit]. The error of f can be read: one
// whose text panics, such as a nil pointer that f returned as an error, is a panic of f.
func Call(f func() error, done func(error)) {
	err := ErrGoexit
	defer func() {
		if v := recover(); v != nil {
			err = &Panic{v, debug.Stack()}
		}
		done(err)
	}()
	returned := f()
	if returned != nil {
		_ = returned.Error() // here, where a panic is caught
	}
	err = returned
}

// Try is Call for a function that is known not to end its goroutine. It gives the error to said, if it is that of a
// panic.
func Try(f func() error, said func(*Panic)) (err error) {
	Call(f, func(e error) { err = e })
	if p, ok := errors.AsType[*Panic](err); ok {
		said(p)
	}
	return err
}
