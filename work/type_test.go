package work_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/work"
)

// TestDuration: the text is bounded before it is read, and an error quotes no more than that.
func TestDuration(t *testing.T) {
	t.Parallel()
	var d work.Duration
	if err := d.UnmarshalText([]byte("1m30s")); err != nil || time.Duration(d) != 90*time.Second {
		t.Errorf("%v, %v", time.Duration(d), err)
	}
	for text, want := range map[string]string{
		"soon":                         `"soon" is not a duration`,
		"9999999999h":                  `"9999999999h" is not a duration`,
		strings.Repeat("1s", 500_000):  "1000000 bytes are no duration",
		strings.Repeat("x", 1_000_000): "1000000 bytes are no duration",
		strings.Repeat("0", 63) + "1s": "65 bytes are no duration",
	} {
		if err := d.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), want) ||
			len(err.Error()) > 200 {
			t.Errorf("%.20s of %d bytes: %.200v, want %q", text, len(text), err, want)
		}
	}
}
