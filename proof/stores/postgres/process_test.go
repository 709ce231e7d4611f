package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/postgres"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/postgres"
)

// holderVariable makes this program a process that holds a session, on the server and in the schema that it names.
const holderVariable = "ROTA_POSTGRES_TEST_HOLDER"

// holderTTL is much longer than it may take to notice that the holder is dead.
const holderTTL = time.Minute

// hold puts a document with a session, says so, and waits for the end of its input.
func hold(where string) error {
	addr, schema, _ := strings.Cut(where, " ")
	ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
	defer cancel()
	s, err := postgres.Open(ctx,
		postgres.Options{Hosts: []string{addr}, Schema: schema, Password: os.Getenv(server.PasswordVariable)})
	if err != nil {
		return err
	}
	defer s.Close()
	n, err := s.OpenSession(ctx, holderTTL)
	if err != nil {
		return err
	}
	if _, err := n.Put(ctx, store.Doc{Key: "s"}); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "held")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// holder starts a process that holds the document "s" with a session.
func holder(t *testing.T, o postgres.Options) *rig.Process {
	t.Helper()
	p := rig.Again(t, holderVariable, o.Hosts[0]+" "+o.Schema)
	if line, _ := p.Line(); line != "held" {
		t.Fatalf("the holder said %q", line)
	}
	return p
}

// awaitGone waits until a document is gone, by hints alone.
func awaitGone(t *testing.T, s *postgres.Store, hints <-chan struct{}, key string) {
	t.Helper()
	for {
		_, err := s.Get(rig.Deadline(t), key)
		if errors.Is(err, store.ErrNotFound) {
			return
		}
		must.Succeed(t, err)
		rig.Hinted(t, hints)
	}
}

// TestSessionOfAKilledProcess kills the owner of a session, which cannot close it: others with sessions hear of it at
// once, long before its ttl.
func TestSessionOfAKilledProcess(t *testing.T) {
	t.Parallel()
	o := options(t)
	s := openWith(t, o)
	openSession(t, s)
	hints := must.Get(s.Watch(rig.LongDeadline(t), ""))(t)
	for range 3 {
		held := holder(t, o)
		held.Kill()
		killed := time.Now()
		awaitGone(t, s, hints, "s")
		t.Logf("the document of a session of %v was gone %v after kill -9", holderTTL,
			time.Since(killed).Round(time.Millisecond))
		if since := time.Since(killed); since > holderTTL/2 {
			t.Errorf("gone after %v", since)
		}
	}
}

// TestSeveralKilledAtOnce: one that was to notice the end of another dies with it.
func TestSeveralKilledAtOnce(t *testing.T) {
	t.Parallel()
	o := options(t)
	s := openWith(t, o)
	openSession(t, s)
	var dead []*rig.Process
	for range 3 {
		dead = append(dead, holder(t, o))
		d, err := s.Get(rig.Deadline(t), "s") // nobody else may have it
		must.Succeed(t, err)
		must.Succeed(t, s.Delete(rig.Deadline(t), "s", d.Version))
	}
	for _, p := range dead {
		_ = p.Cmd.Process.Kill() // all, and then each is waited for
	}
	rig.Eventually(t, "the sessions of all three are gone", func() bool { return sessions(t, o) == 1 })
}

// TestDeadWithoutWitness kills the only process with a session: a reader without one finds it dead, and has it removed.
func TestDeadWithoutWitness(t *testing.T) {
	t.Parallel()
	o := options(t)
	s := openWith(t, o)
	holder(t, o).Kill()
	rig.Eventually(t, "the document is gone", func() bool {
		_, err := s.Get(rig.Deadline(t), "s")
		return errors.Is(err, store.ErrNotFound)
	})
}
