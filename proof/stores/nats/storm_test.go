package nats_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/protocol/replica"
)

// TestStorm runs members whose links to a real server break at random.
func TestStorm(t *testing.T) {
	t.Parallel()
	protocoltest.Storm(t, members(replica.Protocol{}, 2*time.Second, address))
}
