package command

import (
	"os"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/lease"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/store/file"
)

func TestMalformedJobs(t *testing.T) {
	p := newPlace(t)
	p.write("typo.yaml", "tasks:\n- name: a\n  type: noop\n  afetr: b\n")
	p.write("type.yaml", "tasks:\n- {name: a, type: nop}\n")
	p.write("exec.yaml", "tasks:\n- {name: a, type: exec, config: {argv: [/bin/true]}}\n")
	p.write("large.yaml", "type: noop\n#"+strings.Repeat("x", 3<<20))
	for args, want := range map[string][]string{
		"large.yaml":                    {"large.yaml: 3145740 bytes; a definition has at most 1048576", "try: "},
		"typo.yaml":                     {"     4 │   afetr: b\n       │   ^\n", `rota: typo.yaml:4:3: task a: unknown field "afetr"`, "try: did you mean \"after\"?"},
		"type.yaml":                     {`rota: type.yaml:2:19: task a: unknown type "nop"`, `try: did you mean "noop"?; or --type NAME`},
		"exec.yaml":                     {"may not run /bin/true", "try: --allow-exec /bin/true here too, where the members run with it"},
		"nope.yaml":                     {"rota: read job: open nope.yaml", "try: "},
		"typo.txt":                      {"rota: read job: open typo.txt", "try: "},
		"type.yaml --type nop":          {`there is no store`, "try: "},
		"exec.yaml --id rota.x":         {"exec.yaml:2", "try: "},
		"type.yaml type.yaml":           {"takes one argument", "try: "},
		"type.yaml --id a/b --type nop": {`"a/b"`, "try: another --id"},
	} {
		_, stderr, code := p.rota(append([]string{"job", "submit", "--store", "file:store"}, strings.Fields(args)...)...)
		if code == exitOK || !containsAll(stderr, want) {
			t.Errorf("%s: exit %d, %s", args, code, stderr)
		}
	}
}

// TestSubmitBeforeAnyMember: who writes first names the protocol of a place. What was accepted is there for its members, and others are refused.
func TestSubmitBeforeAnyMember(t *testing.T) {
	p := newPlace(t)
	p.write("a.yaml", "type: noop\n")
	for _, at := range []protocol.Protocol{replica.Protocol{}, lease.Protocol{}} { // under the others it waits for members
		store := "file:" + at.Name()
		st, err := file.Open(t.Context(), at.Name(), file.Options{})
		must.Succeed(t, err)
		defer st.Close()
		_, stderr, code := p.rota("job", "submit", "--store", store, "--protocol", at.Name(), "a.yaml")
		if code != exitOK {
			t.Fatalf("%s: exit %d, %s", at.Name(), code, stderr)
		}
		for _, other := range protocols() {
			_, stderr, code := p.rota("job", "submit", "--store", store, "--protocol", other.Name(), "--id", "b", "a.yaml")
			if want := []string{"the cluster uses the protocol \"" + at.Name() + "\"", "try: --protocol " + at.Name()}; other.Name() != at.Name() && other.Fits(st) == nil && (code != exitFailed || !containsAll(stderr, want)) {
				t.Errorf("%s at a place of %s: exit %d, %s", other.Name(), at.Name(), code, stderr)
			}
		}
		if _, stderr, code := p.rota("log", "list", "--store", store); at.Name() == "lease" && (code != exitFailed || !containsAll(stderr, []string{"keeps no log", "try: rota events"})) {
			t.Errorf("the log of lease: exit %d, %s", code, stderr)
		}
		if stdout, _, _ := p.rota("job", "list", "--store", store); !strings.Contains(stdout, "a ") {
			t.Errorf("%s: the job is not there:\n%s", at.Name(), stdout)
		}
	}
}

// The jobs that the guide shows are sound.
func TestJobsOfTheGuide(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../../docs/guide/jobs.md")
	must.Succeed(t, err)
	types, err := env{}.typesOf(allowed{exec: []string{"/opt/etl/load", "/opt/etl/report"}}, false)
	must.Succeed(t, err)
	blocks := strings.Split(string(guide), "```yaml\n")[1:]
	for i, b := range blocks {
		text, _, _ := strings.Cut(b, "```")
		if _, _, err := source.ParseJob("job.yaml", []byte(text), types, new(submission).accepts); err != nil {
			t.Errorf("block %d: %v", i, err)
		}
	}
	if len(blocks) != 2 {
		t.Errorf("%d jobs were read, want 2", len(blocks))
	}
}
