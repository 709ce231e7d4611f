// Package refusal tests that what must not be opened is refused, and how.
//
// # Purpose
//
// A store that cannot be opened says why, and what to try. The tests of all stores ask for that in tables, of options
// that are refused before anybody is asked, and of servers that are not what they should be.
package refusal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
)

// Secret is a password that no error may show.
const Secret = "correct-horse"

// patience bounds a call, and the attempts to get an answer.
const patience = 60 * time.Second

// Opener opens a store as its options say.
type Opener[O any, S io.Closer] func(context.Context, O) (S, error)

// Case is a store that must not be opened, and what the error is and says.
type Case[O any] struct {
	Options O
	Is      error // nil: any
	Words   []string
}

// Says is a Case whose error is, if is is not nil, and says all words.
func Says[O any](o O, is error, words ...string) Case[O] {
	return Case[O]{Options: o, Is: is, Words: words}
}

// All opens stores that must not be opened, each as a test of its own.
func All[O any, S io.Closer](t *testing.T, open Opener[O, S], cases map[string]Case[O]) {
	t.Helper()
	for name, c := range cases { // order-free: each is a test of its own
		t.Run(name, func(t *testing.T) { t.Parallel(); One(t, open, c.Options, c.Is, c.Words...) })
	}
}

// One opens a store that must not be opened. The error says what a user needs, in one line and without the secret,
// and not that something may have changed. On a busy machine a server's answer may come too late: then it asks again.
func One[O any, S io.Closer](t *testing.T, open Opener[O, S], o O, is error, words ...string) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); ; {
		err = refused(t, open, o)
		if !errors.Is(err, store.ErrUnavailable) || lacks(err, words) == "" || time.Now().After(end) {
			break
		}
	}
	t.Log(err)
	if word := lacks(err, words); word != "" {
		t.Errorf("error %q does not say %q", err, word)
	}
	if is != nil && !errors.Is(err, is) {
		t.Errorf("error %v, want %v", err, is)
	}
	if errors.Is(err, store.ErrUnknown) {
		t.Errorf("error %v says that something may have changed", err)
	}
	if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), Secret) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q shows the secret, or has several lines", err)
	}
}

func refused[O any, S io.Closer](t *testing.T, open Opener[O, S], o O) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := open(ctx, o)
	if err == nil {
		_ = s.Close() // it should not be there
		t.Fatal("opened, want an error")
	}
	return err
}

// lacks is the first of the words that an error does not say.
func lacks(err error, words []string) string {
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			return w
		}
	}
	return ""
}
