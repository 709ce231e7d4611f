package cli_test

import (
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/stories"
	"github.com/rota-run/rota/proof/process"
)

// TestStories plays testdata/stories: what people type, and what happens to members, an act a line. $DIR, $STORE and
// $VERSION are those of the story, and "under" names its protocols.
func TestStories(t *testing.T) {
	t.Parallel()
	// Where this test itself runs below nohup, its children would ignore SIGHUP as well. What is caught is not
	// inherited.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(caught) })
	for _, st := range stories.Read(t, "testdata/stories/*.txt") {
		under, acts := []string{""}, st.Acts
		if rest, ok := strings.CutPrefix(acts[0], "under "); ok {
			under, acts = strings.Fields(rest), acts[1:]
		}
		for _, protocol := range under {
			t.Run(strings.TrimSpace(st.Name+" "+protocol), func(t *testing.T) {
				s := &story{place: newPlace(t), protocol: protocol, members: map[string]*running{}}
				if protocol == "sync" {
					s.store = fakeBroker(t)
				}
				for _, act := range acts {
					if s.play(act); t.Failed() {
						t.Fatalf("that was: %s", act)
					}
				}
			})
		}
	}
}

// story is one that is played in a place of its own.
type story struct {
	*place
	protocol string
	members  map[string]*running
	tokens   map[string]uint64 // that were remembered
}

func (s *story) play(act string) {
	s.t.Helper()
	if strings.Contains(act, "$VERSION") {
		act = strings.ReplaceAll(act, "$VERSION", s.version())
	}
	act, texts := stories.Cut(act, "$DIR", s.dir, "$STORE", s.store)
	do, rest, _ := strings.Cut(act, " ")
	switch name, text, _ := strings.Cut(rest, " "); do {
	case "write":
		must.Succeed(s.t, os.MkdirAll(filepath.Join(s.dir, filepath.Dir(name)), 0o750))
		s.write(name, text+"\n")
	case "task":
		s.task(name, text+"\n")
	case "remove":
		must.Succeed(s.t, os.Remove(filepath.Join(s.dir, name)))
	case "move":
		must.Succeed(s.t, os.Rename(filepath.Join(s.dir, name), filepath.Join(s.dir, text)))
	case "filled": // something is written to a file
		await(s.t, name+" is filled", func() bool {
			info, err := os.Stat(filepath.Join(s.dir, name))
			return err == nil && info.Size() > 0
		})
	case "linux": // it can be played there alone
		if runtime.GOOS != "linux" {
			s.t.Skip("NOT TESTED: " + runtime.GOOS)
		}
	case "holds": // holds FILE TEXT
		if got := string(s.content(name)); got != text+"\n" {
			s.t.Errorf("%s holds %q", name, got)
		}
	case "noops":
		s.noops(s.number(name))
	case "env":
		s.env = append(s.env, rest)
	case "ok", "tells", "fails", "misused":
		s.types(map[string]int{"fails": exitFailed, "misused": exitUsage}[do], do == "ok", rest, texts)
	case "until":
		s.until(rest, texts)
	case "once": // once COMMAND => TEXT: it says so, and not twice
		if out := s.says(rest, exitOK); strings.Count(out, texts.Want[0]) != 1 {
			s.t.Errorf("it says\n%s", out)
		}
	case "start", "signal", "suspend", "kill", "ends", "told", "printed", "goes-on":
		s.member(do, name, text, texts)
	default:
		s.cluster(do, strings.Fields(rest))
	}
}

func (s *story) number(text string) int {
	n, err := strconv.Atoi(text)
	must.Succeed(s.t, err)
	return n
}

// types runs a command to its end: what is asked for is on stdout, what was done and what is wrong on stderr.
func (s *story) types(code int, stdout bool, command string, texts stories.Texts) {
	s.t.Helper()
	out, errs, got := s.rota(append(strings.Fields(command), "--store", s.store)...)
	text := errs
	if stdout {
		text = out
	}
	if got != code || !texts.In(text) {
		s.t.Errorf("exit %d, want %d\n%s%s", got, code, out, errs)
	}
}

// until runs a command until it says something: the journal is written behind, and members act when they have heard.
func (s *story) until(command string, texts stories.Texts) {
	s.t.Helper()
	var out string
	defer func() {
		if s.t.Failed() {
			s.t.Logf("in the end it said\n%s", out)
		}
	}()
	await(s.t, "rota "+command+" tells", func() bool {
		var code int
		out, _, code = s.rota(append(strings.Fields(command), "--store", s.store)...)
		return code == exitOK && texts.In(out)
	})
}

// member plays what happens to a member, and what it says.
func (s *story) member(do, name, text string, texts stories.Texts) {
	s.t.Helper()
	m := s.members[name]
	switch do {
	case "start":
		args := strings.Fields(text)
		switch s.protocol {
		case "":
		case "sync": // without sessions, a killed member is missed after its TTL
			args = append([]string{"--protocol", s.protocol, "--ttl", "5s"}, args...)
		default:
			args = append([]string{"--protocol", s.protocol}, args...)
		}
		s.members[name] = s.start(name, args...)
	case "signal":
		m.signal(map[string]syscall.Signal{"TERM": syscall.SIGTERM, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT,
			"HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL}[text])
	case "suspend":
		s.suspend(m)
	case "kill":
		must.Succeed(s.t, m.Kill())
	case "ends": // ends a 0 => TEXT: its exit code, and what it has said
		if code := m.end(); code != s.number(text) || !texts.In(m.Stderr.String()) {
			s.t.Errorf("exit %d: %s", code, m.Stderr.String())
		}
	case "told":
		await(s.t, name+" tells", func() bool { return texts.In(m.Stderr.String()) })
	case "printed":
		await(s.t, name+" prints", func() bool { return texts.In(m.Stdout.String()) })
	case "goes-on": // it prints the same some times more
		before := strings.Count(m.Stdout.String(), texts.Want[0])
		await(s.t, name+" goes on", func() bool { return strings.Count(m.Stdout.String(), texts.Want[0]) > before+3 })
	}
}

// cluster plays what all members together come to.
func (s *story) cluster(do string, w []string) {
	s.t.Helper()
	switch do {
	case "joined":
		s.joined(w[0])
	case "shares": // shares 4 a:2 b:2
		s.awaitShares(s.number(w[0]), strings.Join(w[1:], " "))
	case "alive": // so many of all that were started
		n := 0
		for _, m := range s.members {
			if !m.Ended() {
				n++
			}
		}
		if n != s.number(w[0]) {
			s.t.Errorf("%d members are alive", n)
		}
	case "even": // even t 5 2: tasks that begin so are at 5 members, at most 2 at each
		await(s.t, strings.Join(w, " "), func() bool {
			_, owned := s.owned(w[0])
			return len(owned) == s.number(w[1]) && slices.Max(slices.Collect(maps.Values(owned))) == s.number(w[2])
		})
	case "states": // states job running done: of its tasks
		await(s.t, strings.Join(w, " "), func() bool { return slices.Equal(taskStates(s.job(w[0])), w[1:]) })
	case "slots": // slots job 2: of its first task
		await(s.t, strings.Join(w, " "), func() bool { return len(s.job(w[0]).Tasks[0].Slots) == s.number(w[1]) })
	case "tokens": // of all tasks are remembered
		s.tokens, _ = s.owned("")
	case "kept": // kept [t]: those of tasks that begin so are what they were
		now, _ := s.owned("")
		for task, token := range s.tokens {
			if strings.HasPrefix(task, strings.Join(w, "")) && now[task] != token {
				s.t.Errorf("%s had token %d, and has %d", task, token, now[task])
			}
		}
	case "sockets": // sockets 3: of members that answer on this machine, for their owner alone
		all, err := filepath.Glob(filepath.Join(s.dir, "store", "members", "*.sock"))
		if err != nil || len(all) != s.number(w[0]) {
			s.t.Errorf("sockets %q, %v", all, err)
		}
		for _, path := range all {
			if info, err := os.Stat(path); err != nil || info.Mode() != os.ModeSocket|0o600 {
				s.t.Errorf("%s: %v, %v", path, info, err)
			}
		}
	default:
		s.t.Fatalf("no act is %q", do)
	}
}

// owned are the tokens of the tasks whose names begin so, and how many each member has.
func (p *place) owned(prefix string) (tokens map[string]uint64, owned map[string]int) {
	p.t.Helper()
	tokens, owned = map[string]uint64{}, map[string]int{}
	for _, t := range p.tasks() {
		if strings.HasPrefix(t.Task, prefix) {
			tokens[t.Task] = t.Token
			owned[t.Owner]++
		}
	}
	return tokens, owned
}

// suspend stops a member while it does not write: nobody can write to the file store while a suspended member has the
// turn.
func (p *place) suspend(m *running) {
	p.t.Helper()
	store := filepath.Join(p.dir, "store")
	must.Succeed(p.t, process.StopOutside(p.t.Context(), m.PID(), filepath.Join(store, "queue.lock"),
		filepath.Join(store, "turn.lock")))
}

// fakeBroker is a place on a broker inside this process.
func fakeBroker(t *testing.T) string {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1),
		kfake.BrokerConfigs(map[string]string{"group.min.session.timeout.ms": "100"}))
	must.Succeed(t, err)
	t.Cleanup(c.Close)
	return fmt.Sprintf("kafka://%s/weather", c.ListenAddrs()[0])
}
