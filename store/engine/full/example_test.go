package full_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/engine/full"
)

// A driver that reads, swaps, frees and watches rows is a store, with a log and queues.
func ExampleNewBare() {
	ctx, rows := context.Background(), drivermap.New()
	a, b := full.NewBare(rows.Open(), full.Options{Place: "a map"}),
		full.NewBare(rows.Open(), full.Options{Place: "a map"})
	defer a.Close()
	defer b.Close()

	first, err := a.Put(ctx, store.Doc{Key: "leader", Value: []byte("a")})
	fmt.Println("a created it:", first != "" && err == nil)
	_, err = b.Put(ctx, store.Doc{Key: "leader", Value: []byte("b")})
	fmt.Println("b was late:", errors.Is(err, store.ErrConflict))

	index, err := b.Append(ctx, []byte("an entry"))
	fmt.Println("b appended:", index, err)
	page, err := a.Read(ctx, 0, 10)
	fmt.Printf("a reads %s up to %d: %v\n", page.Records[0].Data, page.Head, err)
	// Output:
	// a created it: true
	// b was late: true
	// b appended: 1 <nil>
	// a reads an entry up to 1: <nil>
}
