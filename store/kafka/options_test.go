package kafka

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rota-run/rota/store"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"an empty name of dots": {Name: ".."},
		"name":                  {Name: "a/b"},
		"a long name":           {Name: strings.Repeat("a", 201)},
		"broker":                {Brokers: []string{"k1"}},
		"timeout":               {Timeout: -1},
		"replicas":              {Replicas: -1},
		"snapshots":             {SnapshotEvery: -1},
		"user":                  {User: "rota"},
		"password":              {Password: "secret-1"},
		"mechanism":             {User: "rota", Password: "secret-1", Mechanism: "gssapi"},
	} {
		err := o.withDefaults().validate()
		if err == nil || strings.Contains(err.Error(), "secret-1") {
			t.Errorf("%s: %v, want an error without the password", name, err)
		}
		if _, opened := Open(context.Background(), o); opened == nil {
			t.Errorf("%s: opened", name)
		}
	}
	for name, o := range map[string]Options{
		"none": {},
		"all": {Brokers: []string{"k1:9092", "[::1]:9092"}, Name: "weather.eu-1_x", User: "rota", Password: "x",
			Mechanism: "plain", Replicas: 3},
	} {
		if err := o.withDefaults().validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpenAfterCancel(t *testing.T) {
	t.Parallel()
	cause := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	if _, err := Open(ctx, Options{}); !errors.Is(err, cause) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("open with a ctx that has ended: %v, want its cause", err)
	}
}

// TestCreateCommand is what an administrator is told to run: it must make what Open makes.
func TestCreateCommand(t *testing.T) {
	t.Parallel()
	want := "`kafka-topics.sh --bootstrap-server HOST:PORT --create --partitions 1 --replication-factor 3 --config cleanup.policy=delete --config retention.ms=-1 " +
		"--config retention.bytes=-1 --config min.insync.replicas=2 --config unclean.leader.election.enable=false --topic rota.log`"
	if got := createCommand("rota.log", 3); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for replicas, insync := range map[int]string{1: "1", 2: "2", 3: "2", 5: "3"} {
		if got := settings(replicas)[3][1]; got != insync {
			t.Errorf("min.insync.replicas of %d replicas is %s, want %s", replicas, got, insync)
		}
	}
}
