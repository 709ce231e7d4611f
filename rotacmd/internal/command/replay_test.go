package command

import (
	"testing"
	"time"
)

func TestInstants(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"14:02": "2026-11-21T14:02:00Z", "13:59": "2026-11-22T13:59:00Z", "13:59:07": "2026-11-22T13:59:07Z",
		"2026-11-20 01:02":          "2026-11-20T01:02:00Z",
		"2026-11-20T01:02:03+01:00": "2026-11-20T00:02:03Z", "": "", "14": "", "25:00": "",
	} {
		got, ok := instantOf(text, now)
		if ok != (want != "") || ok && got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q is %v, want %s", text, got, want)
		}
	}
}
