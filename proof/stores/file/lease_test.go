package file_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/protocol/lease"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/storetest"
)

// TestStoriesOfLease runs the stories of the protocol of claims.
func TestStoriesOfLease(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, protocoltest.Setup{Open: inDirectory(lease.Protocol{}, func(t *testing.T, f *storetest.Faulty) store.Full { return f }), TTL: 2 * time.Second})
}
