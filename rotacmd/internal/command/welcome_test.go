package command

import (
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/output"
	"github.com/rota-run/rota/internal/source/directory"
)

// slowFiles are files whose listing waits until it may go on.
type slowFiles struct {
	fstest.MapFS
	enter func()
	goOn  chan struct{}
}

func (f slowFiles) Open(name string) (fs.File, error) {
	if name == "." {
		f.enter()
		<-f.goOn
	}
	return f.MapFS.Open(name)
}

// TestNothingWaitsForTheFirstScan: what a member says while its files are still being read waits for the first line,
// and the member does not.
func TestNothingWaitsForTheFirstScan(t *testing.T) {
	t.Parallel()
	var out output.Text
	entered := make(chan struct{})
	files := slowFiles{fstest.MapFS{"a.yaml": {Data: []byte("type: noop\n")}}, sync.OnceFunc(func() { close(entered) }),
		make(chan struct{})}
	c := &config{env: env{stderr: &out}, store: "memory:"}
	c.node = node.Config{Member: "m", Files: map[string]fs.FS{"s": statless{files}}, Cache: directory.NewCache()}
	var err error
	c.node.Types, err = c.typesOf(c.allow, true)
	must.Succeed(t, err)
	w := &welcome{c: c}
	ended := make(chan struct{})
	go func() { defer close(ended); w.begin() }()
	<-entered
	w.say("joined")
	w.say("and more")
	if got := out.String(); got != "" {
		t.Errorf("it said %q before the first line", got)
	}
	close(files.goOn)
	<-ended
	w.say("last")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 4 || !strings.Contains(lines[0], "1 task from source s") ||
		strings.Join(lines[1:], ", ") != "joined, and more, last" {
		t.Errorf("it said\n%s", out.String())
	}
}

// statless hides that the files have a Stat and a ReadDir of their own.
type statless struct{ fs.FS }

// TestNoHintThatIsRefused: no other process reads a store inside this one.
func TestNoHintThatIsRefused(t *testing.T) {
	t.Parallel()
	for store, want := range map[string]string{"memory:": "",
		"file:my data": " · status: rota status --store 'file:my data'"} {
		if got := (&config{store: store}).statusHint(); got != want {
			t.Errorf("%s: %q, want %q", store, got, want)
		}
	}
}
