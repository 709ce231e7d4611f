package program

import "testing"

func TestMarked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		environ, mark string
		want          bool
	}{
		{"PATH=/bin\x00ROTA_PROGRAM=abc.1\x00", "abc.1", true},
		{"PATH=/bin\x00ROTA_PROGRAM=abc.1\x00", "abc", true},
		{"PATH=/bin\x00ROTA_PROGRAM=abc.12\x00", "abc.1", false},
		{"PATH=/bin\x00ROTA_PROGRAM=abcd.1\x00", "abc", false},
		{"XROTA_PROGRAM=abc.1\x00", "abc", false},
		{"A=ROTA_PROGRAM=abc\x00", "abc", false},
		{"", "abc", false},
	} {
		if got := marked(c.environ, c.mark); got != c.want {
			t.Errorf("%q with %s: %t", c.environ, c.mark, got)
		}
	}
}
