package must_test

import (
	"errors"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// said takes the place of a test.
type said struct{ args []any }

func (*said) Helper() {}

func (s *said) Fatal(args ...any) { s.args = args }

func TestSucceed(t *testing.T) {
	t.Parallel()
	cause, s := errors.New("cause"), &said{}
	if must.Succeed(s, nil); s.args != nil {
		t.Errorf("without an error it ends with %v", s.args)
	}
	if must.Succeed(s, cause); len(s.args) != 1 || s.args[0] != cause { //nolint:errorlint // this very one
		t.Errorf("it ends with %v, want the error", s.args)
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	s, cause := &said{}, errors.New("cause")
	if got := must.Get(7, nil)(s); got != 7 || s.args != nil {
		t.Errorf("without an error it returns %d, and ends with %v", got, s.args)
	}
	if must.Get(7, cause)(s); len(s.args) != 1 || s.args[0] != cause { //nolint:errorlint // this very one
		t.Errorf("it ends with %v, want the error", s.args)
	}
}
