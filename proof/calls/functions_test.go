package calls_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rota-run/rota"
)

// The functions of the tests. Those that leave marks write into files below the store's directory.
type spot struct{ Dir, Name string }

var (
	noop = rota.NewFunc("noop", func(_ context.Context, n int) (int, error) { return n, nil })
	// hold writes which process runs it, and goes on until a file is there.
	hold = rota.NewFunc("hold", holdUntil)
)

func functions(dir, member string) []rota.Function {
	return []rota.Function{noop, hold, beat(dir, member)}
}

func holdUntil(ctx context.Context, s spot) (int, error) {
	if err := mark(s.Dir, s.Name+".runs", strconv.Itoa(os.Getpid())); err != nil {
		return 0, err
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(filepath.Join(s.Dir, s.Name)); err == nil {
			return os.Getpid(), nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return 0, errors.Join(mark(s.Dir, s.Name+".stops", context.Cause(ctx).Error()), context.Cause(ctx))
		}
	}
}

// mark adds a line to a file, in one write.
func mark(dir, name, line string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintln(f, line)
	return err
}

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
	})
}
