package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/output"
	"github.com/rota-run/rota/proof/history"
	"github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/proof/server"
	"github.com/rota-run/rota/proof/server/elastic"
	"github.com/rota-run/rota/proof/server/zookeeper"
)

// shared is the server of one kind for all tests that leave it running. Each test has a store of its own on it.
type shared struct {
	once   sync.Once
	dir    string
	server *server.Server
	err    error
}

// start is called once.
func (s *shared) start(kind string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience) // the server outlives the test
	defer cancel()
	if s.dir, s.err = os.MkdirTemp("", "rota-shared-"+kind+"-"); s.err == nil {
		s.server, s.err = server.Spawn(ctx, kind, s.dir)
	}
}

// sharedServers are those of all kinds. Each starts when the first test asks for it.
var sharedServers = func() map[string]*shared {
	out := map[string]*shared{}
	for _, kind := range server.Kinds() {
		out[kind] = new(shared)
	}
	return out
}()

// stopServers ends the shared servers; they end with this process in any case.
func stopServers() {
	for _, s := range sharedServers {
		if s.server != nil {
			s.server.Stop()
		}
		if s.dir != "" {
			_ = os.RemoveAll(s.dir) // it is a temporary one
		}
	}
}

// places are how many stores the shared servers have.
var places atomic.Int64

// onServers tries something on each kind of server, which it leaves as it is, in a store of its own.
func onServers(t *testing.T, test func(p *place, s *server.Server)) {
	onShared(t, server.Kinds(), test)
}

// onShared is onServers for some kinds.
func onShared(t *testing.T, kinds []string, test func(p *place, s *server.Server)) {
	onKinds(t, kinds, func(p *place, kind string) {
		one := sharedServers[kind]
		one.once.Do(func() { one.start(kind) })
		p.on(one.server, one.err)
		test(p, one.server)
	})
}

// onOwnServers tries something on each kind of server, in a process of its own that ends with the test.
func onOwnServers(t *testing.T, test func(p *place, s *server.Server)) {
	onKinds(t, server.Kinds(), func(p *place, kind string) { test(p, p.ownServer(kind)) })
}

// ownServer puts the store of a place on a server that ends with the test.
func (p *place) ownServer(kind string) *server.Server {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	s, err := server.Spawn(ctx, kind, p.t.TempDir())
	if err == nil {
		p.t.Cleanup(s.Stop)
	}
	p.on(s, err)
	return s
}

func onKinds(t *testing.T, kinds []string, test func(p *place, kind string)) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) { test(newPlace(t), kind) })
	}
}

// on puts the store of a place on a server, if it has started.
func (p *place) on(s *server.Server, err error) {
	p.t.Helper()
	if errors.Is(err, server.ErrMissing) {
		p.t.Skipf("NOT TESTED: %v", err)
	}
	must.Succeed(p.t, err)
	p.name = fmt.Sprint("weather", places.Add(1))
	p.store = s.URL + "/" + p.name
}

// On etcd, NATS and PostgreSQL TestDemoStartsAServer plays it, by the protocol replica. TestServerAwayAndBack has
// members of that on each server.
func TestDemoOnServers(t *testing.T) {
	onShared(t, []string{"elastic", "kafka", "postgres", "zookeeper"}, func(p *place, s *server.Server) {
		scheme, _, _ := strings.Cut(s.URL, "://")
		by := map[string]string{"zookeeper": "leader", "kafka": "sync", "elastic": "lease", "postgres": "lease"}
		p.demo("--store", p.store, "--protocol", by[scheme])
	})
}

func TestStoreCheckOnServers(t *testing.T) {
	onServers(t, func(p *place, s *server.Server) {
		for range 2 { // the second finds what the first has left
			out, errs, code := p.rota("store", "check", p.store)
			session := "ok  session"
			if strings.HasPrefix(p.store, "elastic:") || strings.HasPrefix(s.URL, "kafka:") {
				session = "-   session" // there is none, and members do without
			}
			if code != exitOK || !strings.Contains(out, "ok  append") || !strings.Contains(out, session) {
				p.t.Errorf("exit %d\n%s%s", code, out, errs)
			}
		}
		p.says("status", exitFailed, "try: rota run --store "+p.store+" ./tasks")
	})
}

// A check with a wrong password leaves nothing that only this password opens, and is not ok.
func TestStoreCheckOfAClosedPlace(t *testing.T) {
	onShared(t, []string{"zookeeper"}, func(p *place, _ *server.Server) {
		as := func(word string) string {
			p.write(word, word)
			return p.store + "?user=u&password=file:" + filepath.Join(p.dir, word)
		}
		wrong := as("wrong")
		p.store = as("right")
		p.start("a")
		p.joined("a")
		for i, want := range []int{exitFailed, exitOK} {
			store := []string{wrong, p.store}[i]
			if out, errs, code := p.rota("store", "check", store); code != want {
				p.t.Errorf("%s: exit %d, want %d\n%s%s", store, code, want, out, errs)
			}
		}
	})
}

// Where there is none, or where something else answers, the error says so, and nothing waits for long.
func TestServersThatCannotBeUsed(t *testing.T) {
	onServers(t, func(p *place, s *server.Server) {
		scheme, _, _ := strings.Cut(s.URL, "://")
		rest := strings.Join(s.Hosts(), ",")
		var all sync.WaitGroup
		defer all.Wait()
		for _, other := range server.Kinds() {
			if other == scheme {
				continue
			}
			all.Go(func() { // all at once: most wait for their bound
				var errs output.Text
				cmd := p.command("status", "--store", other+"://"+rest+"/x?timeout=3s")
				cmd.Stderr = &errs
				_ = cmd.Run() // its exit code tells
				if code := cmd.ProcessState.ExitCode(); code != exitFailed ||
					!strings.Contains(errs.String(), "rota: ") {
					p.t.Errorf("a client of %s at %s: exit %d\n%s", other, scheme, code, errs.String())
				}
				p.t.Logf("a client of %s at %s: %s", other, scheme, errs.String())
			})
		}
		_, errs, code := p.rota("status", "--store", scheme+"://127.0.0.1:1/x?timeout=1s")
		if code != exitFailed || !strings.Contains(errs, "127.0.0.1:1") {
			p.t.Errorf("nobody there: exit %d\n%s", code, errs)
		}
		_, errs, code = p.rota("store", "check", scheme+"://127.0.0.1:1/x?timeout=1s")
		if code != exitFailed || !strings.Contains(errs, "or another address") ||
			strings.Contains(errs, "try: rota store check") {
			p.t.Errorf("check where nobody is: exit %d\n%s", code, errs)
		}
	})
}

// While the server is away the members stop what they run, in time, and say so; when it is back they go on, the same
// processes.
func TestServerAwayAndBack(t *testing.T) {
	onOwnServers(t, func(p *place, s *server.Server) {
		p.noops(4)
		a, b := p.start("a", "--ttl", "2s", "--witness", "a.witness", "tasks"),
			p.start("b", "--ttl", "2s", "--witness", "b.witness", "tasks")
		p.awaitShares(4, "a:2 b:2")
		await(p.t, "both run their share", func() bool { return p.runs("a.witness") == 2 && p.runs("b.witness") == 2 })
		if err := s.Kill(); errors.Is(err, zookeeper.ErrExternal) || errors.Is(err, elastic.ErrExternal) {
			p.t.Skipf("NOT TESTED: %v", err)
		} else if err != nil {
			p.t.Fatal(err)
		}
		await(p.t, "both have stopped all that they ran",
			func() bool { return p.runs("a.witness") == 0 && p.runs("b.witness") == 0 })
		if _, errs, code := p.rota("status", "--store", p.store+"?timeout=1s"); code != exitFailed ||
			!strings.Contains(errs, "try: ") {
			p.t.Errorf("status without a server: exit %d\n%s", code, errs)
		}
		ctx, cancel := context.WithTimeout(p.t.Context(), patience)
		defer cancel()
		must.Succeed(p.t, s.Restart(ctx))
		p.awaitShares(4, "a:2 b:2")
		await(p.t, "both run their share", func() bool { return p.runs("a.witness") == 2 && p.runs("b.witness") == 2 })
		for _, m := range []*running{a, b} {
			if m.Ended() {
				p.t.Errorf("a member has ended: %s", m.Stderr.String())
			}
		}
		await(p.t, "the journal tells", func() bool {
			out, _, _ := p.rota("events", "--store", p.store)
			return strings.Contains(out, "store-lost")
		})
	})
}

// A stopped cluster moves to a server and back, with what it knows.
func TestCopy(t *testing.T) {
	onServers(t, func(p *place, s *server.Server) {
		p.noops(4)
		there := p.store
		p.store = "file:store"
		a := p.start("a", "tasks")
		p.awaitShares(4, "a:4")
		before := p.allTasks(4)
		if _, errs, code := p.rota("store", "copy", p.store, there); code != exitFailed ||
			!strings.Contains(errs, "it has members: a") || !strings.Contains(errs, "--live") {
			p.t.Fatalf("copied under a running member: exit %d\n%s", code, errs)
		}
		a.signal(syscall.SIGTERM)
		a.end()
		documents := p.copies(p.store, there)
		if _, errs, code := p.rota("store", "copy", p.store, there); code != exitFailed ||
			!strings.Contains(errs, "is in use") {
			p.t.Errorf("copied over a cluster: exit %d\n%s", code, errs)
		}
		if back := p.copies(there, "file:back"); back != documents || back == 0 {
			p.t.Errorf("%d documents came, %d went back", documents, back)
		}
		p.store = there
		p.start("b", "tasks")
		p.awaitShares(4, "b:4")
		for i, after := range p.allTasks(4) {
			if after.Token <= before[i].Token {
				p.t.Errorf("%s had token %d, and has %d behind the move", after.Task, before[i].Token, after.Token)
			}
		}
		p.says("events", exitOK, "a joined") // the journal was not left behind
	})
}

// copies copies a cluster, and returns how many documents it had.
func (p *place) copies(from, to string) int {
	p.t.Helper()
	out, errs, code := p.rota("store", "copy", "-o", "json", from, to)
	var report struct{ Partitions, Documents int }
	if code != exitOK || json.Unmarshal([]byte(out), &report) != nil || report.Partitions == 0 {
		p.t.Fatalf("copy %s to %s: exit %d\n%s%s", from, to, code, out, errs)
	}
	p.t.Log(out)
	return report.Documents
}

// runs is how many tasks a member runs, by what it has written down.
func (p *place) runs(witness string) (n int) {
	p.t.Helper()
	w := process.Witness{Path: filepath.Join(p.dir, witness)}
	records, err := w.Next()
	if err != nil {
		p.t.Fatalf("%s: %v", witness, err)
	}
	for _, r := range records {
		switch {
		case strings.HasPrefix(string(r.Partition), "rota."): // the directory's source
		case r.Kind == history.Started:
			n++
		case r.Kind == history.Stopped:
			n--
		}
	}
	return n
}
