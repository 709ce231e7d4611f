package file

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
)

// TestAFullDirectory: as many handles have sessions as may, the next one is refused with the number, and gets the seat
// of one that ends.
func TestAFullDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/store"
	o := Options{Processes: 3}
	var open []*Store
	for range o.Processes {
		s := openIn(t, dir, o)
		for range 2 { // one seat, however many sessions
			must.Succeed(t, must.Err(s.OpenSession(deadline(t), time.Minute)))
		}
		open = append(open, s)
	}
	late := openIn(t, dir, o)
	_, err := late.OpenSession(deadline(t), time.Minute)
	if !errors.Is(err, ErrFull) || !errors.Is(late.TakeSeat(), ErrFull) ||
		!strings.Contains(err.Error(), "3 processes take part here") {
		t.Fatalf("got %v, want ErrFull with the number", err)
	}
	must.Succeed(t, open[1].Close())
	if _, err := late.OpenSession(deadline(t), time.Minute); err != nil {
		t.Errorf("a seat is free, and yet: %v", err)
	}
}
