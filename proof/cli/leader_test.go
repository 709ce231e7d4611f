package cli_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/server/zookeeper"
)

// zkShell runs commands of ZooKeeper's own shell and returns what it prints.
func zkShell(t *testing.T, address string, command ...string) string {
	t.Helper()
	java, lib, err := zookeeper.Parts(t.Context())
	must.Succeed(t, err)
	args := append([]string{"-cp", lib + "/*", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
		"org.apache.zookeeper.ZooKeeperMain", "-server", address}, command...)
	out, err := exec.CommandContext(t.Context(), java, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	text := string(out)
	if i := strings.Index(text, "path:null zxid: -1\n"); i >= 0 { // what it says of its connection
		text = text[i+len("path:null zxid: -1\n"):]
	}
	return text
}

// shown is what the page of ZooKeeper shows of its shell: commands, and what each prints.
func shown(t *testing.T) (commands []string, prints map[string]string) {
	t.Helper()
	page := must.Get(os.ReadFile(filepath.Join("..", "..", "docs", "stores", "zookeeper.md")))(t)
	prints = make(map[string]string)
	for line := range strings.Lines(string(page)) {
		if c, ok := strings.CutPrefix(line, "$ bin/zkCli.sh -server 127.0.0.1:2181 "); ok {
			commands = append(commands, strings.TrimSpace(c))
		} else if n := len(commands); n > 0 && !strings.HasPrefix(line, "```") {
			prints[commands[n-1]] += line
		} else if n > 0 {
			return commands, prints
		}
	}
	t.Fatal("the page has no commands of the shell")
	return nil, nil
}

// alike hides what is another one each time: names of lives, writes and starts, times, indexes.
func alike(s string) string {
	for _, r := range [][2]string{
		{`(?m)^[0-9a-v]{16}$`, "LIFE"}, {`(?m)^[A-Z2-7]{16}(\.[0-9]+)+$`, "WRITE"}, {`[0-9a-f]{16}-[0-9]+`, "START"},
		{`"(at_ms|token|index|incarnation)":[0-9]+`, "NUMBER"},
	} {
		s = regexp.MustCompile(r[0]).ReplaceAllString(s, r[1])
	}
	return strings.TrimSpace(s)
}

// What the page of ZooKeeper shows of a cluster with a leader is what ZooKeeper's own shell prints. What somebody
// writes there with it is refused and journaled with its path, stops nobody, and is written over where it is one of the
// leader's documents.
func TestTheLeaderInZooKeepersShell(t *testing.T) {
	p := newPlace(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s := p.ownServer("zookeeper")
	p.store = s.URL + "/rota"
	address := strings.TrimPrefix(s.URL, "zookeeper://")
	p.noops(4)
	p.start("web-1", "--protocol", "leader", "--ttl", "10s", "tasks")
	p.awaitShares(4, "web-1:4")
	p.start("web-2", "--ttl", "10s", "tasks")
	p.awaitShares(4, "web-1:2 web-2:2")
	commands, prints := shown(t)
	for _, c := range commands {
		got := zkShell(t, address, strings.Fields(c)...)
		for ctx.Err() == nil && alike(got) != alike(prints[c]) { // a task that moved begins a little later
			got = zkShell(t, address, strings.Fields(c)...)
		}
		if alike(got) != alike(prints[c]) {
			t.Errorf("%s prints\n%s\nand the page shows\n%s", c, got, prints[c])
		}
	}
	for _, c := range [][]string{
		{"set", "/rota/rows/+d+leader/holder", "hello"}, {"create", "/rota/rows/+d+assign+web-1/mine", "hello"},
		{"set", "/rota/rows/+d+assign+web-2/t00", `{"format":9}`},
		{"create", "/rota/rows/+d+plan+me"}, {"create", "/rota/rows/+d+plan+me/000000000001", "{}"},
	} {
		zkShell(t, address, c...)
	}
	await(t, "the journal has them with their paths", func() bool {
		out, _, _ := p.rota("events", "--store", p.store)
		return containsAll(out, []string{"document leader/holder: ", "document assign/web-1/mine: ",
			"document assign/web-2/t00: it has format 9", "document plan/me/000000000001: "})
	})
	p.noops(6)
	p.awaitShares(6, "web-1:3 web-2:3")
	await(t, "the assignment is as it should be", func() bool {
		return strings.Contains(zkShell(t, address, "get", "/rota/rows/+d+assign+web-2/t00"), `"task":"t00"`)
	})
	p.says("status", exitOK, "protocol leader", "leader web-", "term ", "since ", "stand-bys web-")
}
