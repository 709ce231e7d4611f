package child

import (
	"errors"
	"fmt"
	"testing"
)

// verdict is a test that records how it was ended.
type verdict struct {
	testing.TB
	result string
}

func (v *verdict) Helper()               {}
func (v *verdict) Skipf(string, ...any)  { v.result = "skipped" }
func (v *verdict) Fatalf(string, ...any) { v.result = "failed" }

func TestRequire(t *testing.T) {
	missing := fmt.Errorf("start: %w", &MissingError{"java", "SERVERS", errors.New("not found")})
	for _, c := range []struct {
		ci   string
		err  error
		want string
	}{
		{"true", nil, ""},
		{"", missing, "skipped"},
		{"false", missing, "skipped"},
		{"true", missing, "failed"},
		{"1", missing, "failed"},
		{"", ErrExited, "failed"},
	} {
		t.Setenv("CI", c.ci)
		v := &verdict{TB: t}
		if Require(v, "a server", c.err); v.result != c.want {
			t.Errorf("CI=%s, %v: %q, want %q", c.ci, c.err, v.result, c.want)
		}
	}
}
