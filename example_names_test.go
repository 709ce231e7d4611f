package rota_test

import (
	"context"
	"fmt"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store/memory"
)

// Processes that share a store take turns by a name. The token goes to whatever the lock guards, here a status, which refuses smaller ones.
func ExampleOpenNames() {
	ctx := context.Background()
	names, err := rota.OpenNames(memory.New().Open(), rota.NamesOptions{Owner: "host-1"}) // or the store that your members share
	if err != nil {
		fmt.Println(err)
		return
	}
	defer names.Close(ctx)

	progress := names.Status("reports/daily")
	err = names.Lock("reports/daily").Do(ctx, func(ctx context.Context, token cluster.Token) error {
		return progress.Put(ctx, token, map[string]int{"done": 3, "of": 7})
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := progress.Get(ctx)
	fmt.Println(string(report.Value), report.Token, err)
	// Output: {"done":3,"of":7} 1 <nil>
}
