package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rota-run/rota/node/guardian"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/rotacmd/internal/command/demo"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/rotacmd/stores"
	"github.com/rota-run/rota/store"
)

// stage is where demonstrations are played: each round has a place of its own.
type stage struct {
	env
	base, query string // of the places
	memory      bool   // inside this process
	round       int
	stop        func() error
}

// newStage starts a server where the text is that of one alone, "etcd:", "nats:" or "postgres:"; else it is a store
// that is there.
func newStage(ctx context.Context, e env, text string) (*stage, error) {
	s := &stage{env: e, stop: func() error { return nil }}
	switch scheme, rest, _ := strings.Cut(text, ":"); {
	case text == "":
	case scheme == "file":
		dir, err := storeDirectory(text)
		if err != nil {
			return nil, err
		}
		if err := notAFile(dir); err != nil {
			return nil, err
		}
		abs, err := filepath.Abs(dir) // the members work in a directory of their own
		if err != nil {
			return nil, fmt.Errorf("store file:%s: %w", dir, err)
		}
		s.base = "file:" + filepath.Join(abs, "demo") // the store makes it, for its owner alone
	case text == "memory:":
		s.memory = true
	case scheme == "memory":
		return nil, misused("rota demo --store memory:", "store memory: takes nothing behind the colon")
	case rest == "" && (scheme == "etcd" || scheme == "nats" || scheme == "postgres"):
		if err := s.serve(ctx, scheme); err != nil {
			return nil, err
		}
	default:
		if err := answers(ctx, e, text); err != nil {
			return nil, err
		}
		s.onServer(text)
	}
	return s, nil
}

// helloWithin bounds how long a demonstration waits for the first answer of a server.
const helloWithin = 5 * time.Second

// answers verifies that a server can be used before members are started that would wait for it.
func answers(ctx context.Context, e env, text string) error {
	if err := stores.Check(text, e.storeOptions("", member)); err != nil {
		return storeFault(text, "", member, err)
	}
	ctx, cancel := context.WithTimeout(ctx, helloWithin)
	defer cancel()
	st, err := openBeside(ctx, e, text, checkSuffix, member)
	if err == nil {
		defer st.Close()
		if _, err = st.Get(ctx, protocol.PlaceKey); errors.Is(err, store.ErrNotFound) {
			err = nil
		}
	}
	if err != nil {
		return failed("rota store check "+storeWord(text)+"; or rota demo without --store",
			"store %s cannot be used: %w", storeurl.Hide(text), err)
	}
	return nil
}

// onServer plays beside a place on a server that runs. In a database the place is a schema, the second part of the
// path.
func (s *stage) onServer(text string) {
	base, query, _ := strings.Cut(text, "?")
	parts := 3 // slashes of a URL with a place
	if strings.HasPrefix(text, "postgres:") {
		parts++
		values, _ := url.ParseQuery(query) // it was checked
		if schema := values.Get("schema"); schema != "" {
			base = strings.TrimRight(base, "/") + "/" + schema
			values.Del("schema")
			query = values.Encode()
		}
	}
	if query != "" {
		s.query = "?" + query
	}
	for base = strings.TrimRight(base, "/"); strings.Count(base, "/") < parts; {
		base += "/" + storeurl.DefaultPath
	}
	s.base = base + "-demo"
}

// next is the place of the next round; nil for a fresh directory.
func (s *stage) next() *demo.Server {
	if s.memory {
		return insideServer(s.env)
	}
	if s.base == "" {
		return nil
	}
	s.round++
	text := fmt.Sprintf("%s-%d-%d%s", s.base, time.Now().Unix(), s.round, s.query)
	return &demo.Server{
		Store: text, Name: storeurl.Hide(text), Silent: !strings.HasPrefix(text, "file:") && !guardian.Supported,
		Polled: strings.HasPrefix(text, "elastic:"),
		Open:   func(ctx context.Context) (store.Full, error) { return openStore(ctx, s.env, text, look) },
	}
}

// demoServer is the program that runs a server of etcd, NATS or PostgreSQL. It is a program of its own, so that rota
// links no server.
const demoServer = "rota-demo-server"

// serverVariable is the environment variable that names the program where it is neither beside rota nor in PATH.
const serverVariable = "ROTA_DEMO_SERVER"

// demoServerHelp is what to try where the program is missing.
const demoServerHelp = "go build -C proof -o ../bin/" + demoServer +
	" ./demoserver, in the source of rota; or --store %s://HOST for a server that runs; or --store memory:"

// serve starts a server in a process of its own, with its data in a directory that stop removes.
func (s *stage) serve(ctx context.Context, scheme string) error {
	try := fmt.Sprintf(demoServerHelp, scheme)
	program, err := findDemoServer(s.getenv(serverVariable))
	if err != nil {
		return failed(try, "%w", err)
	}
	dir, err := os.MkdirTemp("", "rota-demo-"+scheme+"-")
	if err != nil {
		return fmt.Errorf("make a directory for the server: %w", err)
	}
	url, end, err := startDemoServer(ctx, program, scheme, dir)
	if err != nil {
		return errors.Join(failed(try, "%w", err), os.RemoveAll(dir))
	}
	s.base = url + "/demo"
	s.stop = func() error { return errors.Join(end(), os.RemoveAll(dir)) }
	return nil
}

// findDemoServer looks for the program where the environment says it is, beside this program, and in PATH.
func findDemoServer(said string) (string, error) {
	if said != "" {
		return said, nil
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), demoServer)
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	found, err := exec.LookPath(demoServer)
	if err != nil {
		return "", fmt.Errorf("find the program %s, which runs a server for a demonstration: %w", demoServer, err)
	}
	return found, nil
}

// startDemoServer returns when the server can be used; ctx bounds that alone. The server ends with its standard input,
// and so with this process too: when a demonstration is interrupted, its members leave first.
func startDemoServer(ctx context.Context, program, kind, dir string) (url string, end func() error, err error) {
	cmd := exec.Command(program, kind, dir) //nolint:gosec // the program that is beside rota, or that the user names
	var said strings.Builder                // read it when the process has ended
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, fmt.Errorf("start %s: %w", program, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, fmt.Errorf("start %s: %w", program, err)
	}
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("start %s: %w", program, err)
	}
	started := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() }) // it may have ended
	line, err := bufio.NewReader(out).ReadString('\n')
	if !started() || err != nil {
		_ = in.Close()
		err := errors.Join(cmd.Wait(), context.Cause(ctx))
		return "", nil, fmt.Errorf("start a server of %s with %s: %s: %w", kind, program,
			strings.TrimSpace(said.String()), err)
	}
	end = func() error {
		_ = in.Close()
		_, err := io.Copy(io.Discard, out)
		return errors.Join(err, cmd.Wait())
	}
	return strings.TrimSpace(line), end, nil
}
