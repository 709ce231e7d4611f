package nats

import (
	"testing"
	"time"
)

func TestLimitIsNeverShorter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ttl      time.Duration
		replicas int
		want     string
	}{
		{time.Millisecond, 1, "1s"},
		{time.Second, 1, "1s"},
		{time.Second + 1, 1, "2s"},
		{2500 * time.Millisecond, 1, "3s"},
		{2500 * time.Millisecond, 3, "4s"},
		{time.Minute, 3, "61s"},
	} {
		if got := limit(c.ttl, c.replicas); got != c.want {
			t.Errorf("%v with %d replicas: %s, want %s", c.ttl, c.replicas, got, c.want)
		}
	}
}
