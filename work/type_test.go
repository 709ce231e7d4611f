package work_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/work"
)

// TestDuration: the text is bounded before it is read, and an error quotes no more than that.
func TestDuration(t *testing.T) {
	t.Parallel()
	var d work.Duration
	if err := d.UnmarshalText([]byte("1m30.5s")); err != nil || time.Duration(d) != 90_500*time.Millisecond {
		t.Errorf("%v, %v", time.Duration(d), err)
	}
	must.Succeed(t, d.UnmarshalText([]byte(strings.Repeat("0", 62)+"1s"))) // the longest
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

// TestDecodeConfig says which field does not fit.
func TestDecodeConfig(t *testing.T) {
	t.Parallel()
	var v struct {
		N int `json:"n"`
	}
	for in, want := range map[string]string{
		"": "", `{"n":1}`: "", `{"n":"x"}`: "config.n: a string does not fit int",
		`{"m":1}`: `config: json: unknown field "m"`, `7`: "config: ",
	} {
		err := work.DecodeConfig(work.Definition{Config: json.RawMessage(in)}, &v)
		var at *work.ConfigError
		if want == "" && err != nil || want != "" && (!errors.As(err, &at) || at.Unwrap() == nil ||
			!strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
	if v.N != 1 {
		t.Errorf("n is %d", v.N)
	}
}
