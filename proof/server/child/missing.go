package child

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
)

// MissingError says what a machine lacks to run a server.
type MissingError struct {
	What     string // the program, the user or what could not be resolved
	Variable string // of the environment, with the addresses of servers to use instead
	Err      error
}

// Error implements error.
func (e *MissingError) Error() string {
	if e.Variable == "" {
		return fmt.Sprintf("%s is missing: %v", e.What, e.Err)
	}
	return fmt.Sprintf("%s is missing, or set %s=host:port to servers that run: %v", e.What, e.Variable, e.Err)
}

// Unwrap returns the cause.
func (e *MissingError) Unwrap() error { return e.Err }

// Require takes the error of starting a server of this name. On a [MissingError] it skips the test, which then says loudly that it did not run; in CI, where
// the variable CI is true, it fails the test. Any other error fails the test.
func Require(t testing.TB, server string, err error) {
	t.Helper()
	inCI, _ := strconv.ParseBool(os.Getenv("CI")) // anything else is not true
	var missing *MissingError
	switch {
	case err == nil:
	case errors.As(err, &missing) && !inCI:
		t.Skipf("NOT TESTED: %s cannot be started here: %v", server, err)
	default:
		t.Fatalf("start %s: %v", server, err)
	}
}
