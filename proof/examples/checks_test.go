package examples_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/proof/process/processtest"
	"github.com/rota-run/rota/proof/server"
	"github.com/rota-run/rota/store"
)

// checks are members that run the task files of examples/checks, on ZooKeeper under leader, as coalesce does.
type checks struct {
	*tour
	server *server.Server
	up     map[string]*process.Process
}

// newChecks puts a server of this test in the place of each machine of the files.
func newChecks(t *testing.T) *checks {
	t.Helper()
	t.Parallel()
	machine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "up")
	}))
	t.Cleanup(machine.Close)
	here := strings.TrimPrefix(machine.URL, "http://")
	address := strings.NewReplacer("web-1.example:8080", here, "web-2.example:8080", here, "db-1.example:5432", here,
		"db-2.example:5432", here)
	s := onServer(t, "zookeeper")
	p := &checks{&tour{t, t.TempDir(), s.URL + "/checks"}, s, map[string]*process.Process{}}
	must.Succeed(t, os.CopyFS(filepath.Join(p.dir, "tasks"), os.DirFS("../../examples/checks/tasks")))
	for _, f := range append(p.files("tasks", ".yaml"), p.files("tasks", ".json")...) {
		text := must.Get(os.ReadFile(f))(t)
		must.Succeed(t, os.WriteFile(f, []byte(address.Replace(string(text))), 0o600))
	}
	return p
}

func (p *checks) start(name string) {
	p.up[name] = processtest.Start(p.t, name, p.command("rota", "run", "--member", name, "--store", p.store,
		"--protocol", "leader", "--ttl", "30s",
		"--listen", "none", "--publish", "file:"+name+".samples", "tasks"))
}

// owners are the members that run the checks of one machine each, with their tokens, and how many run that of their
// own.
func (p *checks) owners() (by map[string]string, tokens map[string]uint64, own int) {
	p.t.Helper()
	out, err := p.command("rota", "task", "list", "--store", p.store, "-o", "json").Output()
	var tasks []view.Task
	if err != nil || json.Unmarshal(out, &tasks) != nil {
		return nil, nil, 0 // the server is busy, or nobody has joined
	}
	by, tokens = map[string]string{}, map[string]uint64{}
	for _, t := range tasks {
		switch {
		case t.State != view.Running || t.Own:
		case strings.HasPrefix(t.Task, "self"):
			own++
		default:
			by[t.Task], tokens[t.Task] = t.Owner, t.Token
		}
	}
	return by, tokens, own
}

// await waits until each machine is checked by a member that lives, and each member by itself.
func (p *checks) await(what string) (by map[string]string, tokens map[string]uint64) {
	p.t.Helper()
	processtest.Await(p.t, what, func() bool {
		var own int
		by, tokens, own = p.owners()
		for _, m := range by {
			if p.up[m] == nil {
				return false
			}
		}
		return len(by) == 4 && own == len(p.up)
	})
	return by, tokens
}

// seen is what a member has published of a machine.
func (p *checks) seen(member, machine string) int {
	text, err := os.ReadFile(filepath.Join(p.dir, member+".samples"))
	if err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	return strings.Count(string(text), fmt.Sprintf(`"machine":%q`, machine))
}

// The checks of several machines of the source document coalesce: they are pinned to a member as long as it lives,
// /leader, /members and /assign say so, and its publisher gets what each of them measures.
func TestChecks(t *testing.T) {
	p := newChecks(t)
	for _, m := range []string{"a", "b", "c"} {
		p.start(m)
	}
	before, _ := p.await("three members run the checks")
	must.Succeed(t, p.command("rota", "cluster", "set", "--move-budget", "0", "--store", p.store).Run())
	before, tokens := p.await("three members run the checks")
	p.start("d")
	by, now := p.await("a newcomer checks its own machine")
	if !maps.Equal(by, before) || !maps.Equal(now, tokens) {
		t.Errorf("a join moves %v with the tokens %v to %v with %v", before, tokens, by, now)
	}
	leader := p.documents(before)

	victim := ""
	for _, m := range before { // order-free: any
		if m != leader {
			victim = m
		}
	}
	must.Succeed(t, p.up[victim].Kill())
	delete(p.up, victim)
	by, now = p.await("the checks of " + victim + " run elsewhere")
	for machine, m := range before { // order-free: each by itself
		if m != victim && (by[machine] != m || now[machine] != tokens[machine]) {
			t.Errorf("%s moved from %s, which lives, to %s", machine, m, by[machine])
		}
		processtest.Await(t, by[machine]+" publishes what it measures of "+machine,
			func() bool { return p.seen(by[machine], machine) > 0 })
	}

	p.write("tasks/web-1.yaml", "type: http\nevery: 1s\nconfig: {adress: nowhere}\n")
	processtest.Await(t, "the fault is in the journal with its place", func() bool {
		out, err := p.command("rota", "events", "--kind", "malformed-task-error", "--store", p.store).CombinedOutput()
		return err == nil && strings.Contains(string(out), "web-1.yaml:3")
	})
	if _, after, _ := p.owners(); after["web-1"] != now["web-1"] {
		t.Errorf("with a fault in its file web-1 has token %d, had %d", after["web-1"], now["web-1"])
	}
}

// documents looks for those of the source document, and returns who leads.
func (p *checks) documents(by map[string]string) (leader string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), processtest.Patience)
	defer cancel()
	s, err := p.server.Open(ctx, "checks", true)
	must.Succeed(p.t, err)
	defer s.Close()
	keys := []string{"leader/holder"}
	for m := range p.up { // order-free: all are looked for
		keys = append(keys, "members/"+m)
	}
	for machine, m := range by { // order-free: all are looked for
		keys = append(keys, "assign/"+m+"/"+machine)
	}
	for _, key := range keys {
		var d store.Doc
		processtest.Await(p.t, key+" is there", func() bool { d, err = s.Get(ctx, key); return err == nil })
		if key == "leader/holder" {
			for m := range p.up { // order-free: only one is named
				if strings.Contains(string(d.Value), fmt.Sprintf("%q", m)) {
					leader = m
				}
			}
		}
	}
	if leader == "" {
		p.t.Error("leader/holder names no member")
	}
	return leader
}
