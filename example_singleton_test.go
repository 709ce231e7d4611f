package rota_test

import (
	"context"
	"fmt"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/store/memory"
)

// One member of the cluster sends the report; where it dies, another one does. The mail gateway refuses a token that is smaller than one it has seen.
func ExampleMember_Singleton() {
	ctx := context.Background()
	m, err := rota.Join(ctx, rota.Config{Member: "web-1", Store: memory.New().Open()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Leave(ctx)
	err = m.Singleton(ctx, "monthly-report", func(ctx context.Context, token rota.Token) error {
		fmt.Println("sent under token", token)
		return ctx.Err()
	})
	fmt.Println(err)
	// Output:
	// sent under token 1
	// <nil>
}
