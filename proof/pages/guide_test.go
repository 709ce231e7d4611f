package pages

import (
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// sound is a page that can be tried. The tables below break it.
const sound = `# A store

## From nothing
` + "```" + `
go build -o bin/rota ./cmd/rota
export PATH=$PWD/bin:$PATH
` + "```" + `
The server:
` + "```" + `
cat > conf <<END
port: 1
END
server -c conf
` + "```" + `
` + "```" + `
docker run server
` + "```" + `
` + "```" + `
rota store check nats://127.0.0.1:1/rota
` + "```" + `
## Three members
` + "```" + `
rota run --store nats://127.0.0.1:1/rota ./examples/quickstart/tasks
` + "```" + `
Look:
` + "```" + `
rota member list --store nats://127.0.0.1:1/rota
rota task list   --store nats://127.0.0.1:1/rota
` + "```" + `
## More
` + "```" + `
rota run --store nats://elsewhere/rota ./tasks
` + "```" + `
`

func TestReadGuide(t *testing.T) {
	t.Parallel()
	g := must.Get(ReadGuide(sound))(t)
	want := Guide{
		Store: "nats://127.0.0.1:1/rota", Programs: "go build -o bin/rota ./cmd/rota\nexport PATH=$PWD/bin:$PATH\n",
		Server: "cat > conf <<END\nport: 1\nEND\nserver -c conf\n", Check: "rota store check nats://127.0.0.1:1/rota\n",
		Run:     "rota run --store nats://127.0.0.1:1/rota ./examples/quickstart/tasks",
		Members: "rota member list --store nats://127.0.0.1:1/rota",
		Tasks:   "rota task list   --store nats://127.0.0.1:1/rota",
	}
	if g != want {
		t.Errorf("got %+v, want %+v", g, want)
	}
}

// A page that cannot be followed from the first line to the last is refused, with what is wrong in it.
func TestABrokenPageIsNoticed(t *testing.T) {
	t.Parallel()
	const server = "```\ncat > conf <<END\nport: 1\nEND\nserver -c conf\n```\n"
	for _, c := range []struct{ name, old, new, want string }{
		{"no first section", "## From nothing", "## Start", `section "From nothing": no block builds the programs`},
		{"no other section", "## Three members", "## Members", `section "Three members": 0 lines`},
		{"no programs", "go build -o bin/rota ./cmd/rota\nexport PATH=$PWD/bin:$PATH\n", "docker build .\n",
			"no block builds"},
		{"programs that are not found", "export PATH=$PWD/bin:$PATH\n", "", "end the block with export PATH"},
		{"no server", server, "", "no block starts the server"},
		{"two servers", server, server + server, "a second block of its kind"},
		{"no check", "rota store check nats://127.0.0.1:1/rota", "docker ps", "no block has rota store check"},
		{"a command that is not rota's", "rota store check", "rota stores check", "is not rota store check STORE"},
		{"a check of nothing", "rota store check nats://127.0.0.1:1/rota", "rota store check",
			"is not rota store check STORE"},
		{"another store for members", "rota run --store nats://127.0.0.1:1/rota ./examples",
			"rota run --store nats://127.0.0.1:2/rota ./examples", "names another store than the check"},
		{"another store to look at", "rota task list   --store nats://127.0.0.1:1/rota",
			"rota task list   --store nats://127.0.0.1:1/rotas", "names another store than the check"},
		{"no store", "rota member list --store nats://127.0.0.1:1/rota", "rota member list",
			"names another store than the check"},
		{"nobody looks at the tasks", "rota task list   --store nats://127.0.0.1:1/rota\n", "", "2 lines: it has"},
		{"a member that is not rota's", "rota run --store nats://127.0.0.1:1/rota ./examples",
			"rotas run --store nats://127.0.0.1:1/rota ./examples", "is not rota run"},
		{"more than is tried", "rota task list   --store nats://127.0.0.1:1/rota\n",
			"rota task list   --store nats://127.0.0.1:1/rota\nrota member drain x\n", "4 lines: it has"},
		{"an open block", "## More", "```", "is not closed"},
		{"an open quote", "server -c conf", "server -c 'conf", "a quote ' is not closed"},
		{"an open quote in a member's line", "/rota ./examples", "/rota './examples", "a quote ' is not closed"},
		{"two commands in one line", "/rota ./examples", "/rota; rota run ./examples", "is not rota run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			page := strings.Replace(sound, c.old, c.new, 1)
			if page == sound {
				t.Fatalf("%q does not stand there", c.old)
			}
			if _, err := ReadGuide(page); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want something about %q", err, c.want)
			}
		})
	}
}
