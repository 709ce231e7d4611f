package call

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/cluster"
)

// TestOneSetOfOptions: a function with two is refused by Submit, before anybody is asked.
func TestOneSetOfOptions(t *testing.T) {
	t.Parallel()
	f := NewFunc("sum", func(context.Context, int) (int, error) { return 0, nil }, Options{Attempts: 1}, Options{})
	if _, err := f.Submit(t.Context(), nil, 1); err == nil || !strings.Contains(err.Error(), "several Options") {
		t.Errorf("got %v", err)
	}
	bad := NewFunc("tell", func(context.Context, Failure) (int, error) { return 0, nil }, Options{MaxResult: -1})
	if _, err := (Options{OnFailure: bad}).handler(); err == nil || !strings.Contains(err.Error(), "tell: MaxResult") {
		t.Errorf("what follows a failure: %v", err)
	}
}

// TestLabelsOfManyFunctions: the names that a member announces are shared out to labels that are not too long.
func TestLabelsOfManyFunctions(t *testing.T) {
	t.Parallel()
	var functions []Function
	var names []string
	for _, letter := range []string{"a", "b", "c", "d"} {
		names = append(names, strings.Repeat(letter, labelSize/2))
		functions = append(functions, NewFunc[int, int](names[len(names)-1], nil))
	}
	m := cluster.Member{}
	for key, value := range Labels(functions) { // order-free: Offered sorts
		if len(value) > labelSize {
			t.Errorf("label %s has %d bytes", key, len(value))
		}
		m.Labels = append(m.Labels, cluster.Label{Key: key, Value: value})
	}
	if got := Offered(m); !slices.Equal(got, names) || len(m.Labels) != 4 {
		t.Errorf("%d labels announce %d functions", len(m.Labels), len(got))
	}
}
