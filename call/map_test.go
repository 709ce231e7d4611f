package call_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/rota-run/rota/call"
)

// Results come in the order of the arguments, errors at their place; what was taken and not yielded is never more than the window.
func TestMapIsInOrderAndBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		odd := call.NewFunc("odd", func(_ context.Context, n int) (string, error) {
			if n%10 == 0 {
				return "", call.Permanent(fmt.Errorf("%d is round", n))
			}
			return fmt.Sprint(n), nil
		}, call.Options{})
		s, c := lab(t, 8, odd)
		s.join(s.Open(), "b", 8, odd)
		const calls, window = 3000, 50
		taken, n := 0, 0
		args := func(yield func(int) bool) {
			for i := range calls {
				if taken++; taken-n > window {
					t.Errorf("%d taken and %d yielded", taken, n)
				}
				if !yield(i) {
					return
				}
			}
		}
		for r, err := range odd.Map(t.Context(), c, args, window) {
			var e *call.Error
			if n%10 == 0 && (!errors.As(err, &e) || e.Message != fmt.Sprintf("%d is round", n)) || n%10 != 0 && (err != nil || r != fmt.Sprint(n)) {
				t.Fatalf("%d: got %q, %v", n, r, err)
			}
			n++
		}
		if n != calls {
			t.Errorf("%d results", n)
		}
		c.Close()
		if left, err := s.Open().List(t.Context(), "call/"); err != nil || len(left) > 0 {
			t.Errorf("%d documents are left, %v", len(left), err)
		}
	})
}

// Who leaves a Map, or whose ctx ends, leaves no call behind that goes on.
func TestALeftMapIsCancelled(t *testing.T) {
	for _, how := range []string{"break", "ctx"} {
		t.Run(how, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				first := make(chan struct{})
				ran := sync.OnceFunc(func() { close(first) })
				stay := call.NewFunc("stay", func(ctx context.Context, n int) (int, error) {
					if n == 0 {
						ran()
						return 0, nil
					}
					<-ctx.Done()
					return 0, ctx.Err()
				}, call.Options{})
				s, c := lab(t, 3, stay)
				args := func(yield func(int) bool) {
					for i := 0; yield(i); i++ {
						receive(t, "the first call runs", first) // those behind it take all slots, and go on
					}
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				enough := errors.New("enough")
				var last error
				for _, err := range stay.Map(ctx, c, args, 10) {
					if last = err; how == "break" {
						break
					}
					cancel(enough)
				}
				if how == "ctx" && !errors.Is(last, enough) {
					t.Errorf("the last error is %v", last)
				}
				look := s.Open()
				await(t, "all have ended", func() bool {
					docs, err := look.List(t.Context(), "call/c/")
					if err != nil {
						t.Fatal(err)
					}
					for _, d := range docs {
						if strings.Contains(string(d.Value), `"state":"queued"`) || strings.Contains(string(d.Value), `"state":"running"`) {
							return false
						}
					}
					return true
				})
				c.Close()
			})
		})
	}
}
