package replica

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
	"github.com/rota-run/rota/store/memory"
)

// TestARenewalOfAFormerLifeComesLate: calls are made on goroutines of their own, so one of a former life may begin behind those of the present one.
// It must not end the session of the present pulse: others would see that pulse gone and take over from a member that trusts itself.
func TestARenewalOfAFormerLifeComesLate(t *testing.T) {
	t.Parallel()
	stores := map[string]func(t *testing.T) (Store, func() error){
		"memory": func(*testing.T) (Store, func() error) {
			s := memory.New().Open()
			return s, s.Close
		},
		"file": func(t *testing.T) (Store, func() error) {
			s, err := file.Open(t.Context(), t.TempDir(), file.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return s, s.Close
		},
	}
	for name, open := range stores {
		for _, noSessions := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s, closeStore := open(t)
				defer func() {
					if err := closeStore(); err != nil {
						t.Error(err)
					}
				}()
				lateRenewal(t, s, noSessions)
			})
		}
	}
}

func lateRenewal(t *testing.T, s Store, noSessions bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c := &Caller{
		Member: "a", Store: s, TTL: time.Minute, NoSessions: noSessions, Logger: slog.New(slog.DiscardHandler),
		Now: protocol.Now, Wall: time.Now,
	}
	defer c.Close(ctx)
	renew := func(e Renew) Renewed {
		t.Helper()
		got, ok := c.Call(ctx, e).(Renewed)
		if !ok || got.Key != e.Key {
			t.Fatalf("renew %s was answered by %+v", e.Key, got)
		}
		return got
	}
	first, second := Renew{Key: "pulse/a/n-1", Create: true, Life: 1}, Renew{Key: "pulse/a/n-2", Create: true, Life: 2}
	if got := renew(second); got.Outcome != Done {
		t.Fatalf("renew the second life: %+v", got)
	}
	before, err := s.Get(ctx, second.Key)
	if err != nil {
		t.Fatal(err)
	}
	if got := renew(first); got.Outcome != NotDone || got.Err == "" {
		t.Errorf("a renewal of the first life that comes late: %+v, want that it is not done", got)
	}
	if _, err := s.Get(ctx, first.Key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the pulse of the first life: %v, want that there is none", err)
	}
	if after, err := s.Get(ctx, second.Key); err != nil || after.Version != before.Version {
		t.Errorf("the pulse of the second life has version %q, %v; want %q, untouched", after.Version, err, before.Version)
	}
	second.Create = false
	for range 4 { // beyond the renewals after which the former session is closed
		if got := renew(second); got.Outcome != Done {
			t.Fatalf("renew the second life again: %+v", got)
		}
		if _, err := s.Get(ctx, second.Key); err != nil {
			t.Fatalf("its pulse: %v", err)
		}
	}
}

// A pulse states the TTL of its owner, and what cannot be one is none.
func TestAPulseStatesItsTTL(t *testing.T) {
	t.Parallel()
	s := memory.New().Open()
	defer s.Close()
	c := &Caller{
		Member: "a", Store: s, TTL: 7 * time.Second, Logger: slog.New(slog.DiscardHandler), Now: protocol.Now, Wall: time.Now,
	}
	defer c.Close(t.Context())
	want := map[string]time.Duration{protocol.HeartbeatPrefix + "a/1": 7 * time.Second}
	if got, ok := c.Call(t.Context(), Renew{Key: protocol.HeartbeatPrefix + "a/1", Create: true, Life: 1}).(Renewed); !ok || got.Outcome != Done {
		t.Fatalf("renew: %+v", got)
	}
	for key, value := range map[string]string{
		"short": `{"member":"b","at_ms":1,"ttl_ms":300}`, "none": `{"member":"b","at_ms":1}`, "empty": "", "text": "7s",
		"negative": `{"ttl_ms":-1}`, "endless": `{"ttl_ms":9223372036854775807}`, "list": "[]",
	} {
		if _, err := s.Put(t.Context(), store.Doc{Key: protocol.HeartbeatPrefix + "b/" + key, Value: []byte(value)}); err != nil {
			t.Fatal(err)
		}
		want[protocol.HeartbeatPrefix+"b/"+key] = 0
	}
	want[protocol.HeartbeatPrefix+"b/short"] = 300 * time.Millisecond
	list, ok := c.Call(t.Context(), ListPulses{}).(PulsesListed)
	if !ok || len(list.Pulses) != len(want) {
		t.Fatalf("got %+v", list)
	}
	for _, p := range list.Pulses {
		seen, ok := c.Call(t.Context(), CheckPulse{Key: p.Key}).(PulseSeen)
		if !ok || p.TTL != want[p.Key] || seen.TTL != want[p.Key] {
			t.Errorf("%s: listed %s, seen %s, want %s", p.Key, p.TTL, seen.TTL, want[p.Key])
		}
	}
}
