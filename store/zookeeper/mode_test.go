package zookeeper

import (
	"strings"
	"testing"
)

// TestModes reads answers to srvr: what a server does not say of itself, or says after too many bytes, makes each read
// a transaction.
func TestModes(t *testing.T) {
	t.Parallel()
	const head = "Zookeeper version: 3.9.5\nLatency min/avg/max: 0/0.4/5\nReceived: 12\n"
	for text, want := range map[string]struct {
		mode string
		want remedy
	}{
		head + "Mode: follower\nNode count: 7\n":                      {"follower", bySync},
		head + "Mode: observer\n":                                     {"observer", bySync},
		head + "Mode: standalone":                                     {"standalone", byNothing},
		head + "Mode: leader\nNode count: 7\n":                        {"leader", byTransaction},
		head + "Mode: read-only\n":                                    {"read-only", byTransaction},
		"srvr is not executed because it is not in the whitelist.\n":  {"", byTransaction},
		"This ZooKeeper instance is not currently serving requests\n": {"", byTransaction},
		"": {"", byTransaction},
		strings.Repeat("x", 2*askMost) + "\nMode: follower\n": {"", byTransaction},
	} {
		if got := readMode(strings.NewReader(text)); got != want.mode || remedyOf(got) != want.want {
			t.Errorf("%.100q: mode %q, remedy %v; want %q, %v", text, got, remedyOf(got), want.mode, want.want)
		}
	}
}
