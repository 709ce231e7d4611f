package work

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

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
		err := DecodeConfig(Definition{Config: json.RawMessage(in)}, &v)
		var at *ConfigError
		if want == "" && err != nil || want != "" && (!errors.As(err, &at) || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
	if v.N != 1 {
		t.Errorf("n is %d", v.N)
	}
}
