package doclog

import (
	"path/filepath"
	"testing"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
	"github.com/rota-run/rota/store/memory"
)

// BenchmarkAppend appends records of usual size one after the other, to a log of documents and to the store's own.
func BenchmarkAppend(b *testing.B) {
	own := memory.New().Open()
	dir, err := file.Open(deadline(b), filepath.Join(b.TempDir(), "store"), file.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer dir.Close()
	for _, c := range []struct {
		name string
		log  store.Log
	}{{"memory/own", own}, {"memory/documents", over(b, memory.New().Open(), Options{})}, {"file/own", dir}, {"file/documents", over(b, dir, Options{})}} {
		data := make([]byte, 200)
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := c.log.Append(b.Context(), data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
