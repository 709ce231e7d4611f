package kafka

import (
	"errors"
	"os"
	"strconv"
	"testing"
)

// Require takes the error of [Start] or [Parts]. On a [MissingError] it skips the test, which then says loudly that it did not run; in CI, where the
// variable CI is true, it fails the test. Any other error fails the test.
func Require(t testing.TB, err error) {
	t.Helper()
	inCI, _ := strconv.ParseBool(os.Getenv("CI")) // anything else is not true
	var missing *MissingError
	switch {
	case err == nil:
	case errors.As(err, &missing) && !inCI:
		t.Skipf("NOT TESTED: Kafka cannot be started here: %v", err)
	default:
		t.Fatalf("start Kafka: %v", err)
	}
}
