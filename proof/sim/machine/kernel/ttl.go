package kernel

import (
	"time"

	"github.com/rota-run/rota/internal/protocol/heartbeat"
)

// LongestTTL is the longest TTL that a member states while its renewals are slow.
func LongestTTL(usual time.Duration) time.Duration { return heartbeat.Slowest * usual }

// StatedTTL is the TTL that a document states; 0 for one that is no heartbeat.
func StatedTTL(document []byte) time.Duration { return heartbeat.StatedTTL(document) }
