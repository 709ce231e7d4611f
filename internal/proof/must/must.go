// Package must ends a test whose own preparation failed.
//
// # Purpose
//
// Most lines of a test only lead to what it is about, and each of them can fail. [Succeed] ends the test there, and
// says where and why.
package must

// TB is what it needs of a test, of a benchmark, or of a check of properties.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Succeed ends the test if there is an error.
func Succeed(t TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Err is the error of a call that returns something beside it, for Succeed.
func Err[T any](_ T, err error) error { return err }

// Get returns the result of a call, and ends the test if it failed: v := must.Get(call())(t).
func Get[T any](v T, err error) func(TB) T {
	return func(t TB) T {
		t.Helper()
		Succeed(t, err)
		return v
	}
}
