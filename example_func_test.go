package rota_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/store/memory"
)

// A member has a function; who has the store calls it, waits for the result, and maps it over many arguments.
func ExampleNewFunc() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	type division struct{ By, What int }
	divide := rota.NewFunc("divide", func(_ context.Context, d division) (int, error) {
		if d.By == 0 {
			return 0, rota.Permanent(errors.New("division by zero")) // no further attempt may help
		}
		return d.What / d.By, nil
	}, rota.FuncOptions{Attempts: 3, Timeout: time.Minute})

	m, err := rota.Join(ctx, rota.Config{Member: "web-1", Store: memory.New().Open(), Slots: 4,
		Functions: []rota.Function{divide}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Leave(ctx)

	call, err := divide.Submit(ctx, m, division{By: 6, What: 42}) // persisted: it is done whoever dies now
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(call.Wait(ctx))

	all := []division{{By: 1, What: 10}, {By: 0, What: 10}, {By: 5, What: 10}}
	for result, err := range divide.Map(ctx, m, slices.Values(all), 2) {
		var failed *rota.CallError
		if errors.As(err, &failed) {
			fmt.Println("failed:", failed.Message)
			continue
		}
		fmt.Println(result, err)
	}
	// Output:
	// 7 <nil>
	// 10 <nil>
	// failed: division by zero
	// 2 <nil>
}
