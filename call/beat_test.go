package call_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rota-run/rota"
)

// beat writes its token again and again, looking at its ctx before each time, until a file is there or ctx ends.
func beat(dir, member string) rota.Func[spot, string] {
	return rota.NewFunc("beat", func(ctx context.Context, s spot) (string, error) {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			if ctx.Err() != nil {
				return "", context.Cause(ctx)
			}
			if err := mark(dir, s.Name+".beats", fmt.Sprintf("%d %s %d", rota.TokenOf(ctx), member, n)); err != nil {
				return "", err
			}
			if there(dir, s.Name) {
				return member, nil
			}
			<-tick.C
		}
	}, rota.FuncOptions{})
}
