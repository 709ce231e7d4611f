package lock

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rota-run/rota/store"
)

// MarshalText implements encoding.TextMarshaler with the name, so that a lock can be an argument of a function that runs elsewhere.
func (l Lock) MarshalText() ([]byte, error) {
	if err := store.CheckName(l.s.name); err != nil {
		return nil, fmt.Errorf("write a lock: %w", err)
	}
	return []byte(l.s.name), nil
}

// UnmarshalText implements encoding.TextUnmarshaler. The lock has no client then: see [Lock.On].
func (l *Lock) UnmarshalText(text []byte) error {
	if err := store.CheckName(string(text)); err != nil {
		return fmt.Errorf("read a lock: %w", err)
	}
	*l = Lock{Semaphore{name: string(text), size: 1, kind: "lock"}}
	return nil
}

// On returns the same lock, taken through a client. Use it for a lock that came as an argument.
func (l Lock) On(p interface{ Lock(name string) Lock }) Lock { return p.Lock(l.Name()) }

// String returns the name.
func (l Lock) String() string { return l.s.name }

// times separates the name and the size of a semaphore; no name contains it.
const times = "*"

// MarshalText implements encoding.TextMarshaler with the name and the size, like "db*3".
func (s Semaphore) MarshalText() ([]byte, error) {
	if err := s.checkText(); err != nil {
		return nil, fmt.Errorf("write a semaphore: %w", err)
	}
	return []byte(s.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler. The semaphore has no client then: see [Semaphore.On].
func (s *Semaphore) UnmarshalText(text []byte) error {
	name, size, _ := strings.Cut(string(text), times)
	n, err := strconv.Atoi(size)
	if err != nil {
		return fmt.Errorf("read semaphore %.40q: want a name and a number of places, like %q", text, "db"+times+"3")
	}
	next := Semaphore{name: name, size: n, kind: "semaphore"}
	if err := next.checkText(); err != nil {
		return fmt.Errorf("read a semaphore: %w", err)
	}
	*s = next
	return nil
}

// On returns the same semaphore, taken through a client. Use it for a semaphore that came as an argument.
func (s Semaphore) On(p interface {
	Semaphore(name string, n int) Semaphore
}) Semaphore {
	return p.Semaphore(s.name, s.size)
}

// String returns the name and the size.
func (s Semaphore) String() string { return s.name + times + strconv.Itoa(s.size) }

func (s Semaphore) checkText() error {
	if s.size < 1 || s.size > maxSize {
		return fmt.Errorf("%d places: give 1 to %d", s.size, maxSize)
	}
	return store.CheckName(s.name)
}
