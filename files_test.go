package rota_test

import (
	"context"
	"fmt"
	"io/fs"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/leader"
	"github.com/rota-run/rota/protocol/replica"
	"github.com/rota-run/rota/store/memory"
)

// TestManyFiles: a source of more files than one request of a protocol takes is read, whatever the protocol.
func TestManyFiles(t *testing.T) {
	const many = 1100
	files := fstest.MapFS{}
	for i := range many {
		files[fmt.Sprintf("n%04d.yaml", i)] = &fstest.MapFile{Data: []byte("type: once")}
	}
	for _, p := range []protocol.Protocol{replica.Protocol{}, leader.Protocol{}} {
		t.Run(p.Name(), func(t *testing.T) {
			virtual(t, func(t *testing.T, ctx context.Context) {
				var ran atomic.Int64
				all := make(chan struct{})
				once := rota.NewType("once", func(context.Context, *rota.Grant, struct{}) error {
					if ran.Add(1) == many {
						close(all)
					}
					return nil
				})
				joinAs(t, ctx, memory.New(), rota.Config{Member: "a", Protocol: p, Types: []rota.Type{once},
					Files: map[string]fs.FS{"tasks": files}})
				select {
				case <-all:
				case <-ctx.Done():
					t.Errorf("%d of %d tasks ran within a minute", ran.Load(), many)
				}
			})
		})
	}
}
