package cli_test

import (
	"strings"
	"testing"
)

// The plain binary runs programs one after another: the second begins when the first has ended well, and a failure is tried again.
func TestAJobOfPrograms(t *testing.T) {
	p := newPlace(t)
	p.write("job.yaml", `tasks:
- name: load
  type: command
  max: 1
  config: {argv: [/bin/sh, -c, 'test -e tried || { date > tried; exit 3; }; echo "load $ROTA_JOB $ROTA_TASK" >> done'], dir: "`+p.dir+`"}
  retry: {min: 10ms, attempts: 10}
- name: sum
  type: command
  after: load
  max: 1
  config: {argv: [/bin/sh, -c, 'test -s tried && echo sum >> done'], dir: "`+p.dir+`"}
`)
	p.start("a", "--slots", "3", "--allow-exec", "/bin/sh", "tasks")
	p.joined("a")
	said := p.submit("job.yaml", "--allow-exec", "/bin/sh", "--wait")
	if !strings.Contains(said, "completed, 2 of 2 tasks done") {
		t.Errorf("it said %s", said)
	}
	if got := string(p.content("done")); got != "load job load\nsum\n" {
		t.Errorf("the programs wrote %q", got)
	}
	await(t, "the journal tells of the failure", func() bool { // it is written behind
		out, _, _ := p.rota("events", "--store", "file:store")
		return strings.Contains(out, "ended with code 3")
	})
}
