package rota_test

import (
	"context"
	"fmt"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/store/memory"
)

// Processes that share a store take turns by a name. The token goes to whatever the lock guards, here a status, which
// refuses smaller ones.
func ExampleOpenLocks() {
	ctx := context.Background()
	locks, err := rota.OpenLocks(memory.New().Open(), rota.LocksOptions{Owner: "host-1"}) // or the store that your members share
	if err != nil {
		fmt.Println(err)
		return
	}
	defer locks.Close(ctx)

	progress := locks.Status("reports/daily")
	err = locks.Lock("reports/daily").Do(ctx, func(ctx context.Context, token rota.Token) error {
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
