package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/proof/history"
	"github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/store/file"
)

// earlier builds the binary of the commit that testdata/earlier.txt names, and returns it with what it says that it is.
// A shallow clone has no history to take it from, and says so; any other one without that commit fails.
func earlier(t *testing.T) (program, version string) {
	t.Helper()
	text := must.Get(os.ReadFile("testdata/earlier.txt"))(t)
	commit := regexp.MustCompile(`(?m)^[0-9a-f]{40}$`).FindString(string(text))
	if shallow, err := exec.Command("git", "rev-parse", "--is-shallow-repository").Output(); err != nil {
		t.Fatal(err)
	} else if strings.TrimSpace(string(shallow)) == "true" {
		t.Skip("a shallow clone: NOT RUN. git fetch --unshallow")
	}
	if out, err := exec.Command("git", "cat-file", "-e", commit+"^{commit}").CombinedOutput(); err != nil {
		t.Fatalf("this clone lacks the commit %q of testdata/earlier.txt: %v\n%s", commit, err, out)
	}
	dir := t.TempDir()
	run := func(name string, in []byte, args ...string) []byte {
		t.Helper()
		cmd := exec.Command(name, args...)
		var out, errs bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &errs
		cmd.Env = append(os.Environ(), "VERSION=0.0.9", "REVISION="+commit[:12])
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, errs.String())
		}
		return out.Bytes()
	}
	run("tar", run("git", nil, "-C", "../..", "archive", commit), "-x", "-C", dir)
	program = filepath.Join(dir, "rota")
	run(filepath.Join(dir, "deploy", "build"), nil, program)
	return program, (&place{t: t, dir: dir, program: program}).version()
}

// rolling is a cluster whose members are replaced one after the other, and what they have written down about their
// runs.
type rolling struct {
	*place
	old     string // the other binary
	members map[string]*running
	witness []*process.Witness
	args    []string
	tasks   int
}

// by is the same place with another binary, for commands and for members that start from now on.
func (r *rolling) by(program string) *place {
	p := *r.place
	p.program = program
	return &p
}

// begin starts a member of a binary and waits until it has joined under its version.
func (r *rolling) begin(program, name, version string) {
	r.t.Helper()
	witness := fmt.Sprintf("%s%d.witness", name, len(r.witness))
	r.witness = append(r.witness,
		&process.Witness{Path: filepath.Join(r.dir, witness), Incarnation: uint64(len(r.witness) + 1)})
	r.members[name] = r.by(program).start(name, append([]string{"--witness", witness}, r.args...)...)
	await(r.t, fmt.Sprintf("%s has joined as %s", name, version), func() bool {
		out, _, _ := r.rota("member", "list", "--store", r.store, "-o", "json")
		var members []view.Member
		return json.Unmarshal([]byte(out), &members) == nil && slices.ContainsFunc(members, func(m view.Member) bool {
			return m.Member == name && m.State == "joined" && strings.HasPrefix(m.Version, version)
		})
	})
}

// leave ends a member in order.
func (r *rolling) leave(name string) {
	r.t.Helper()
	m := r.members[name]
	delete(r.members, name)
	m.signal(syscall.SIGTERM)
	if code := m.end(); code != exitOK || !strings.Contains(m.Stderr.String(), name+" left gracefully") {
		r.t.Fatalf("%s: exit %d; it said\n%s", name, code, m.Stderr.String())
	}
}

// settled waits until each task has a member that runs and each member has tasks, as both binaries see it, and checks
// the cluster with one of them: a check waits for a heartbeat of each member.
func (r *rolling) settled(what, check string) {
	r.t.Helper()
	for _, program := range []string{r.old, r.program} {
		await(r.t, what+": each task runs on one member, each member has tasks", func() bool {
			tasks, busy := r.by(program).tasks(), make(map[string]bool)
			for _, t := range tasks {
				if t.State != view.Running || r.members[t.Owner] == nil {
					return false
				}
				busy[t.Owner] = true
			}
			return len(tasks) == r.tasks && len(busy) == len(r.members)
		})
	}
	r.by(check).says("status --check", exitOK, fmt.Sprintf("ok: %d members, %d tasks", len(r.members), r.tasks))
}

// alone judges what the members wrote down: no task ran twice at any time.
func (r *rolling) alone(least int) {
	r.t.Helper()
	h := history.History{End: time.Now().UnixNano(),
		Promises: []history.Promise{{Partition: "careful", Overlaps: true}}}
	for _, w := range r.witness {
		records, err := w.Next()
		must.Succeed(r.t, err)
		h.Records = append(h.Records, records...)
	}
	report := history.Decide(h)
	if report.Overlaps > 0 || report.Runs < least {
		r.t.Errorf("%d overlaps in %d runs, want none in %d at least: %v", report.Overlaps, report.Runs, least,
			report.Violations)
	}
	r.t.Logf("%d runs", report.Runs)
}

// TestUpgradeAndBack plays docs/guide/upgrade.md with the binary of an earlier commit: each member of a cluster is
// replaced by the one of this tree, and back. At each step every task has one owner, for the commands of both; what
// either submits is understood by the other.
func TestUpgradeAndBack(t *testing.T) {
	t.Parallel()
	old, oldVersion := earlier(t)
	for _, protocol := range []string{"replica", "lease"} {
		t.Run(protocol, func(t *testing.T) {
			p := newPlace(t)
			now, nowVersion := p.program, p.version()
			if nowVersion == oldVersion {
				t.Fatalf("both binaries are %s", nowVersion)
			}
			args := []string{"--protocol", protocol, "--ttl", "10s", "--slots", "4", "tasks"}
			r := &rolling{place: p, old: old, members: make(map[string]*running), args: args}
			names := []string{"a", "b", "c"}
			p.noops(6)
			p.task("careful.yaml", "type: noop\nevery: 1s\nhandover: no-gap\n")
			r.tasks = 7
			submit := func(program, id string) {
				t.Helper()
				p.write(id+".yaml", "tasks:\n- {name: first, type: noop, every: 1s, max: 1}\n- {name: second, type: noop, every: 1s, max: 1}\n")
				r.by(program).tells("job submit "+id+".yaml", id+" is submitted: 2 tasks")
				r.tasks += 2
			}
			replace := func(program, version string) {
				t.Helper()
				for _, name := range names {
					r.leave(name)
					r.settled(name+" has left", now)
					r.begin(program, name, version)
					r.settled(name+" is "+version, program)
				}
			}
			for _, name := range names {
				r.begin(old, name, oldVersion)
			}
			submit(old, "before")
			r.settled("all are old", now)
			replace(now, nowVersion)
			submit(now, "after")
			r.settled("all are new", old)
			replace(old, oldVersion)
			for _, name := range names {
				r.leave(name)
			}
			r.alone(r.tasks)
			for _, program := range []string{old, now} {
				if out, errs, code := r.by(program).rota("store", "check", r.store); code != exitOK {
					t.Errorf("%s store check: exit %d\n%s%s", program, code, out, errs)
				}
			}
		})
	}
	t.Run("a newer format", func(t *testing.T) {
		p := newPlace(t)
		p.program = old
		p.noops(1)
		a := p.start("a", "tasks")
		p.awaitShares(1, "a:1")
		p.appendNewer()
		for _, m := range []*running{a, p.start("b", "tasks")} {
			if code := m.end(); code != exitFailed || !strings.Contains(m.Stderr.String(), "upgrade this Rota") {
				t.Errorf("exit %d, want %d and a word of an upgrade; it said\n%s", code, exitFailed, m.Stderr.String())
			}
		}
	})
}

// appendNewer writes what a Rota of the next format would write.
func (p *place) appendNewer() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	s, err := file.Open(ctx, filepath.Join(p.dir, "store"), file.Options{})
	must.Succeed(p.t, err)
	defer s.Close()
	entry := cluster.Entry{Writer: "newer", Seq: 1,
		Commands: []cluster.Command{cluster.Configure{Retention: 3}}}.Encode()
	entry[1]++ // the second byte is the format
	must.Succeed(p.t, must.Err(s.Append(ctx, entry)))
}
