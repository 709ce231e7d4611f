package usercode

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// noError is an error whose nil pointer has no text.
type noError struct{ text string }

func (e *noError) Error() string { return e.text }

// TestCall: whatever a function does, what follows it is told once, and a panic has the stack of the function.
func TestCall(t *testing.T) {
	t.Parallel()
	failure := errors.New("no luck")
	for name, c := range map[string]struct {
		f    func() error
		want string // of the error
	}{
		"returns": {func() error { return nil }, ""},
		"fails":   {func() error { return failure }, "no luck"},
		"panics":  {func() error { panic("bad") }, "panic: bad"},
		"nil":     {func() error { panic(nil) }, "panic: panic called with nil argument"},
		"no text": {func() error { var p *noError; return p }, "panic: runtime error: invalid memory address"},
		"exits":   {func() error { runtime.Goexit(); return nil }, "runtime.Goexit"},
	} {
		told := make(chan error, 2)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			Call(c.f, func(err error) { told <- err })
		}()
		<-ended
		err := <-told
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || len(told) != 0 {
			t.Errorf("%s: %v, and %d more", name, err, len(told))
		}
	}
	stack := ""
	err := Try(func() error { panic("bad") }, func(p *Panic) { stack = string(p.Stack) })
	if err == nil || !strings.Contains(stack, "usercode_test.go") {
		t.Errorf("%v with the stack %s", err, stack)
	}
	if err := Try(func() error { return failure }, func(*Panic) { t.Error("no panic") }); !errors.Is(err, failure) {
		t.Error(err)
	}
}
