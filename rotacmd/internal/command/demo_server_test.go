package command

import (
	"os"
	"strings"
	"testing"
)

// rota links no server. Where the program that runs one is missing, the demonstration says what it is and how to get
// it, and leaves nothing.
func TestDemoWithoutTheProgramForServers(t *testing.T) {
	p := newPlace(t)
	t.Setenv("PATH", p.dir)
	t.Setenv("TMPDIR", p.dir)
	for _, c := range []struct {
		kind, named, want string
	}{
		{"etcd", "", demoServer}, {"nats", "", demoServer}, {"etcd", "./no/such/program", "no/such/program"},
	} {
		out, errs, code := with(map[string]string{serverVariable: c.named}, "", "demo", "--store", c.kind+":")
		lines := strings.Split(strings.TrimSpace(errs), "\n")
		if code != exitFailed || out != "" || len(lines) != 2 || !strings.Contains(lines[0], c.want) {
			t.Errorf("%s with %q: exit %d\n%s%s", c.kind, c.named, code, out, errs)
		}
		if try := lines[len(lines)-1]; !containsAll(try,
			[]string{"try: go build", "./demoserver", "--store " + c.kind + "://"}) {
			t.Errorf("%s with %q: it says %q", c.kind, c.named, try)
		}
	}
	left, err := os.ReadDir(p.dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left besides the folder of tasks: %v, %v", left, err)
	}
}
