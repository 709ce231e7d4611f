package command

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// TestErrorsSayWhatToTry runs the command lines of testdata/usage.txt.
func TestErrorsSayWhatToTry(t *testing.T) {
	text := must.Get(os.ReadFile("testdata/usage.txt"))(t)
	p := newPlace(t)
	p.write("tasks/a.yaml", "type: noop\n")
	busy := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer busy.Close()
	_, rows, _ := strings.Cut(strings.ReplaceAll(string(text), "$BUSY", busy.Addr().String()), "\n")
	for row := range strings.SplitSeq(strings.ReplaceAll(strings.TrimSpace(rows), "\n    ", "\t"), "\n") {
		line, want, _ := strings.Cut(row, "\t")
		want = strings.ReplaceAll(want, `\n`, "\n")
		t.Run(line[2:], func(t *testing.T) {
			stdout, stderr, code := p.rota(strings.Fields(line[2:])...)
			lines := strings.Split(strings.TrimSpace(stderr), "\n")
			said := lines[max(0, len(lines)-2)]
			switch {
			case fmt.Sprint(code) != line[:1]:
				t.Errorf("exit %d; it said %s", code, stderr)
			case stdout != "":
				t.Errorf("stdout has %q", stdout)
			case !strings.HasPrefix(said, "rota: ") || !strings.Contains(stderr, want):
				t.Errorf("it said %q, want something about %q", said, want)
			case !strings.HasPrefix(lines[len(lines)-1], "try: "):
				t.Errorf("it does not say what to try: %q", stderr)
			case strings.Contains(stderr, "hunter2"):
				t.Errorf("it tells a secret: %q", stderr)
			}
		})
	}
}
