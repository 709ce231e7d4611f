//go:build unix

package pages

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/pages"
)

// TestSessions types what pages say from top to bottom, in one folder for each page, and compares what they print.
func TestSessions(t *testing.T) {
	t.Parallel()
	for _, p := range forUsers(t) {
		if !slices.Contains(inSessions, p.path) {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(p.path), ".md"), func(t *testing.T) {
			t.Parallel()
			s := newSession(t)
			for _, b := range p.blocks {
				if b.Mark != "" || b.Info == "go" {
					continue
				}
				if err := s.play(b); err != nil {
					t.Fatalf("%s:%d: %v", p.path, b.Line, err)
				}
			}
		})
	}
}

// session is a user who reads a page. Members run in the background, in a terminal of their own each; all else is typed
// and awaited.
type session struct {
	*user
	members []*typed
	printed string // by the commands of the last block
}

func newSession(t *testing.T) *session {
	t.Helper()
	bin := programs.build(t, "go build -o bin/rota ./cmd/rota\ngo build -o bin/hello ./examples/hello\n")
	s := &session{user: newUser(t, bin)}
	tasks := filepath.Join("examples", "quickstart", "tasks")
	must.Succeed(t, os.CopyFS(filepath.Join(s.dir, tasks), os.DirFS(filepath.Join(root, tasks))))
	scripts := filepath.Join("cluster", "testdata") // of rota simulate
	must.Succeed(t, os.CopyFS(filepath.Join(s.dir, scripts), os.DirFS(filepath.Join(root, scripts))))
	return s
}

// The pages run programs from their source, or rota from their folder. Here they are built once, in another folder.
var fromSource = regexp.MustCompile(`(?m)go run \./(?:cmd|examples)/(\w+)|^\./(rota)\b`)

func (s *session) play(b pages.Block) error {
	text := fromSource.ReplaceAllString(b.Text, "$1$2")
	switch b.Info {
	case "text":
		return s.compare(text)
	case "yaml":
		return s.write(text)
	case "", "sh":
	default:
		return fmt.Errorf("nobody knows how to play a block of %q", b.Info)
	}
	s.printed = ""
	for _, c := range steps(text) {
		if err := s.step(c); err != nil {
			return err
		}
	}
	return nil
}

// step is what is typed at once, and what the page says that it prints.
type step struct{ typed, want string }

// steps cuts a block: with prompts each is a step, and what is between them is printed; without them, each line is one,
// and a here-document belongs to it.
func steps(text string) []step {
	var all []step
	prompts := strings.Contains("\n"+text, "\n$ ")
	end := ""
	for line := range strings.Lines(text) {
		typed, isTyped := strings.CutPrefix(line, "$ ")
		last := len(all) - 1
		switch {
		case end != "":
			all[last].typed += line
			if strings.TrimSpace(line) == end {
				end = ""
			}
			continue
		case prompts && !isTyped && last >= 0:
			all[last].want += line
			continue
		case last >= 0 && strings.HasSuffix(all[last].typed, "\\\n"):
			all[last].typed += line
		default:
			all = append(all, step{typed: typed})
		}
		if m := regexp.MustCompile(`<<'?(\w+)`).FindStringSubmatch(typed); m != nil {
			end = m[1]
		}
	}
	return all
}

var inBackground = regexp.MustCompile(`^(rota run|hello) `)

// step types a command until it ends well, because a member may not have started yet; one with an expected error is
// typed once.
func (s *session) step(c step) error {
	if inBackground.MatchString(c.typed) {
		m, err := s.types(s.dir, "exec "+strings.TrimSuffix(strings.TrimSpace(c.typed), "&")+"\n")
		s.members = append(s.members, m)
		return err
	}
	if c.want != "" {
		out, _ := s.asks(s.t.Context(), "{ "+strings.TrimSuffix(c.typed, "\n")+"\n} 2>&1 || true\n")
		s.printed += out
		return alike(c.want, out)
	}
	var last error
	err := await(s.t.Context(), "it ends well: "+c.typed, func() (bool, error) {
		var out string
		if out, last = s.asks(s.t.Context(), c.typed); last == nil {
			s.printed += out
		}
		if misused(last) {
			return false, last
		}
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return nil
}

// compare waits until the last command, or a member, has printed this.
func (s *session) compare(want string) error {
	var last error
	err := await(s.t.Context(), "this is printed: "+want, func() (bool, error) {
		out := s.printed
		for _, m := range s.members {
			if err := m.failed(); err != nil {
				return false, err
			}
			out += m.said()
		}
		last = alike(want, out)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return nil
}

// write saves a file under the name in its first line, and wants it to be sound. The tasks of the tests need no
// network.
func (s *session) write(text string) error {
	first, _, _ := strings.Cut(text, "\n")
	name, ok := strings.CutPrefix(first, "# ")
	if !ok {
		return fmt.Errorf("the first line is not # NAME: %s", first)
	}
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	_, err := s.asks(s.t.Context(), "rota validate --allow-exec /opt/etl/load,/opt/etl/report "+name)
	return err
}

var (
	times   = regexp.MustCompile(`\b\d[\d.,:]*( ?(ms|s|m|h)\b)?`)
	members = regexp.MustCompile(`"member":"[^"]*"`)
	digests = regexp.MustCompile(`digest [0-9a-f]{16}`)
	plurals = regexp.MustCompile(`\b(job|task|document|member)s\b`)
	folders = regexp.MustCompile(`/\S*rota-demo-\S*`)
)

// shape is a line without what differs from run to run: numbers, times, names of machines, folders, and the width of
// columns.
func shape(line string) string {
	line = folders.ReplaceAllString(line, "DIR")
	line = digests.ReplaceAllString(line, "digest D")
	line = plurals.ReplaceAllString(line, "$1")
	line = members.ReplaceAllString(line, `"member":"M"`)
	return strings.Join(strings.Fields(times.ReplaceAllString(line, "0")), " ")
}

// alike wants the lines of a text, in their order, among those that were printed. A line of dots stands for any.
func alike(want, printed string) error {
	var lines []string
	for line := range strings.Lines(printed) {
		lines = append(lines, shape(line))
	}
	at := 0
	for line := range strings.Lines(want) {
		w := shape(line)
		if w == "" || w == "..." || w == "…" {
			continue
		}
		i := slices.Index(lines[at:], w)
		if i < 0 {
			return fmt.Errorf("the page has the line\n%s\nit is not printed, after %d lines, in\n%s", w, at, printed)
		}
		at += i + 1
	}
	return nil
}

// What a page says is not printed is noticed.
func TestAnotherTextIsNoticed(t *testing.T) {
	t.Parallel()
	const printed = "web-1  joined  12 ms\nweb-2  gone   1.5 s\n"
	for want, ok := range map[string]bool{
		"web-1 joined 7 ms\n…\n": true, "web-2 gone 2 s\n": true, "web-1 lost 12 ms\n": false,
		"web-2 gone 1 s\nweb-1 joined 1 ms\n": false, "done\n": false,
	} {
		if err := alike(want, printed); (err == nil) != ok {
			t.Errorf("%q: %v", want, err)
		}
	}
}
