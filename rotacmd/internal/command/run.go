package command

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/rotacmd/internal/logging"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/store"
)

// runFlags are the settings of a member.
func runFlags(f *pflag.FlagSet) {
	f.String("store", "", "the store that the members share: "+storeForms+", or memory: for one process alone")
	queueFlag(f)
	f.String("member", "", "name of this member; default: the host name plus a random suffix")
	f.String("protocol", "", protocolUsage())
	f.Duration("ttl", 10*time.Second, "how long other members wait for this one when it is silent")
	f.StringToString("label", nil, "label of this member, k=v; may be repeated")
	f.Int64("weight", 100, "share of the load that this member takes, relative to the others")
	f.Int64("capacity", 0, "limit of its tasks; 0: no limit")
	f.Int64("slots", 0, "number of slots; each runs one task of a job at a time")
	f.String("listen", "", "address of the API; default: the first free port of 127.0.0.1:7600-7699; none: no API")
	f.StringSlice("source", nil,
		"a directory of task files with a name of its own, NAME=DIR; may be repeated. A plain DIR has its last element as its name")
	f.StringArray("publish", []string{"stdout"}, "where samples go: stdout, file:PATH, "+sinkForms()+
		", or none; may be repeated")
	f.StringArray("storage", nil, "further destination of journal records: file:PATH; may be repeated")
	f.StringSlice("allow-net", nil, "private address ranges (CIDR) that tasks may connect to")
	f.StringSlice("allow-exec", nil, "absolute path of a program that tasks may start; may be repeated")
	f.StringSlice("allow-env", nil,
		"environment variable that tasks may set for programs: a name, or a prefix and *; may be repeated")
	f.StringSlice("allow-tail", nil,
		"directory below which tasks may read log files; default /var/log and /tmp; may be repeated")
	f.StringSlice("allow-write", nil,
		"directory below which tasks of type files.write may write; default none; may be repeated")
	f.Bool("no-sessions", false, "use only heartbeats, even if the store notices the death of a process")
	f.Duration("hold", 0, "announce a restart when the member leaves: its tasks wait so long for it, and nobody runs them, instead of moving; the same for all members (others wait 1m where they have none)")
	f.Bool("guardian", true,
		"a small process that ends this member's programs and session when the member is killed, so that others take over at once")
	f.Duration("drain-timeout", 10*time.Second, "how long tasks may take to move away before the member leaves")
	f.String("state-dir", "",
		"directory for the member's state: with it, a member that starts while the store is away runs its tasks with on_store_loss: keep")
	f.Int64("most-members", 0,
		"limit of members on this machine, if the store is on a server; 0: 32 for each processor")
	f.String("witness", "", "file to which each start and stop of a task is appended")
	f.String("tls-cert", "", "certificate of the API, PEM")
	f.String("tls-key", "", "its key, PEM")
	f.String("api-token", "", "token that requests to the API must carry: env:NAME or file:/path")
	f.String("api-tokens", "", "file with a token for each user of the API, on lines "+api.UserLine+
		": the role is read or operate, the hash that of a random token; read at the start")
	f.String("log-level", "warn", "debug, info, warn or error")
	f.Bool("dev-types", false, "task types for tests of Rota itself")
	configFlag(f)
	if err := f.MarkHidden("dev-types"); err != nil {
		panic(err) // it was defined above
	}
}

const runHelp = `Run a member of a cluster. The directories hold task files (.yaml, .yml, .json); they are watched.
A member without directories runs what the others' files define.

Each setting may also stand in the environment (ROTA_TTL=4s) or in rota.yaml (ttl: 4s); rota config shows the outcome.
SIGTERM or ctrl-c moves the tasks away and leaves; a second one ends the process at once. A terminal that is closed is like the first.
SIGHUP to a member without a terminal opens the file of --publish again, for the rotation of logs.`

func newRun(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "run [DIR...]", Short: "run a member", Long: runHelp,
		Example: "  rota run --store file:./rota-data ./tasks\n  rota run --store etcd://127.0.0.1:2379/rota --member web-1 --slots 4"}
	runFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := memberConfig(e, cmd, args)
		if err != nil {
			return err
		}
		if limit := limitMemory(e.getenv, e.machine()); limit > 0 {
			c.node.Logger.Info("memory is limited by the cgroup", "soft_limit_bytes", limit)
		}
		defer limitGarbage(e.getenv)()
		return c.run(cmd.Context())
	}
	return cmd
}

// config is what a member runs with.
type config struct {
	env
	store, listen    string
	queue            string // "" for the store's
	publish          []string
	storages         []string
	protocol         string // "" for that of the place
	cert, key, token string
	users            string // a file; "" for none
	dirs, sources    []string
	node             node.Config
	allow            allowed
	devTypes         bool
	sampleText       string
	stateDir         string // "" for none
	deaf             bool   // to signals: it is not alone in this process
	guarded          bool   // a guardian is wanted
	most             int64  // members on this machine; 0 for what its processors take
	seat             io.Closer
}

func memberConfig(e env, cmd *cobra.Command, args []string) (*config, error) {
	if _, err := settle(e, cmd); err != nil {
		return nil, err
	}
	f := cmd.Flags()
	text := func(name string) string { return strings.TrimSpace(valueOf(f.GetString(name))) }
	c := &config{
		env: e, store: text("store"), queue: text("queue"), protocol: text("protocol"),
		publish: valueOf(f.GetStringArray("publish")), storages: valueOf(f.GetStringArray("storage")),
		listen: text("listen"), cert: text("tls-cert"), key: text("tls-key"), token: text("api-token"), users: text("api-tokens"),
		devTypes: valueOf(f.GetBool("dev-types")), guarded: valueOf(f.GetBool("guardian")), stateDir: text("state-dir"),
		allow: allowed{
			net: valueOf(f.GetStringSlice("allow-net")), exec: valueOf(f.GetStringSlice("allow-exec")),
			env: valueOf(f.GetStringSlice("allow-env")), tail: valueOf(f.GetStringSlice("allow-tail")),
			write: valueOf(f.GetStringSlice("allow-write")),
		},
		sources: valueOf(f.GetStringSlice("source")), most: valueOf(f.GetInt64("most-members")),
	}
	c.node = node.Config{
		Member: cluster.MemberID(text("member")), TTL: valueOf(f.GetDuration("ttl")),
		Labels: valueOf(f.GetStringToString("label")), Weight: valueOf(f.GetInt64("weight")),
		Capacity: valueOf(f.GetInt64("capacity")), Slots: valueOf(f.GetInt64("slots")),
		NoSessions: valueOf(f.GetBool("no-sessions")), DrainTimeout: valueOf(f.GetDuration("drain-timeout")),
		Hold: valueOf(f.GetDuration("hold")), WitnessPath: text("witness"), Version: version,
	}
	var err error
	if c.node.Logger, err = logger(e, text("log-level")); err != nil {
		return nil, err
	}
	if c.dirs, _, err = dirsFrom(e, cmd, args); err != nil {
		return nil, err
	}
	return c, c.complete()
}

// complete checks what can be checked before anything is opened.
func (c *config) complete() error {
	if c.node.Hold < 0 || c.node.Hold > time.Hour {
		return misused("--hold 30s", "hold: %s is not between 0 and 1h", c.node.Hold)
	}
	if c.node.TTL == 0 { // a library's default; somebody wrote this
		return misused("--ttl 10s", "ttl: 0 is no time to wait")
	}
	if c.node.DrainTimeout < 0 {
		return misused("--drain-timeout 10s", "drain-timeout: %s is negative", c.node.DrainTimeout)
	}
	if c.node.Weight < 1 {
		return misused("--weight 1, or later rota member drain", "weight: %d is below 1", c.node.Weight)
	}
	if c.most < 0 || c.most > 10_000 {
		return misused("--most-members 100", "most-members: %d is not between 0 and 10000", c.most)
	}
	if c.node.Hold > 0 && c.node.Member == "" {
		return misused("--member web-1 --hold "+c.node.Hold.String(),
			"hold: the tasks wait for a member of the same name, and without --member the name is another one each time")
	}
	if c.stateDir != "" && c.node.Member == "" {
		return misused("--member web-1 --state-dir "+c.stateDir,
			"state-dir: what is kept there is for a member of the same name, and without --member the name is another one each time")
	}
	c.node.Member = cmp.Or(c.node.Member, defaultMember())
	if err := cluster.CheckName(string(c.node.Member)); err != nil {
		return misused("--member web-1", "member: %w", err)
	}
	var err error
	if c.node.Types, err = c.typesOf(c.allow, c.devTypes); err != nil {
		return err
	}
	c.node.Functions = c.functions()
	return c.declare()
}

func logger(e env, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, misused("--log-level "+nearestOr(level, []string{"debug", "info", "warn", "error"}, "info"),
			"log-level %q must be one of debug, info, warn, error", level)
	}
	return slog.New(logging.Limit(slog.NewTextHandler(logging.NewWriter(e.stderr), &slog.HandlerOptions{Level: l}))), nil
}

// usersTry makes a token and its line.
const usersTry = `TOKEN=$(openssl rand -hex 32), a line "NAME operate sha256:$(printf %s $TOKEN | sha256sum | cut -c1-64)", and chmod 600`

// openAPI listens; nil where no API is wanted.
func (c *config) openAPI() (net.Listener, api.Access, error) {
	var a api.Access
	if c.listen == "none" {
		return nil, a, nil
	}
	var err error
	if c.token != "" {
		if a.Token, err = storeurl.Secret(c.token, c.getenv); err != nil {
			return nil, a, misused("--api-token env:NAME", "api-token: %w", err)
		}
	}
	if c.users != "" {
		if a.Users, err = api.ReadUsers(c.users); err != nil {
			return nil, a, misused(usersTry, "api-tokens: %w", err)
		}
	}
	if c.cert != "" || c.key != "" {
		pair, err := tls.LoadX509KeyPair(c.cert, c.key)
		if err != nil {
			return nil, a, misused("--tls-cert cert.pem --tls-key key.pem", "read the API's certificate: %w", err)
		}
		a.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	l, err := api.Listen(c.listen, a)
	if errors.Is(err, api.ErrNotLoopback) {
		return nil, a, misused("--listen 127.0.0.1:7600, or --tls-cert, --tls-key and --api-token", "%w", err)
	}
	const other = "another --listen, or no --listen for a free port"
	if _, bound := errors.AsType[syscall.Errno](err); bound { // the system refuses it
		return nil, a, failed(other, "%w", err)
	}
	if err != nil {
		return nil, a, misused(other, "%w", err)
	}
	return l, a, nil
}

// valueOf is the value of one of the flags of run.
func valueOf[T any](value T, err error) T {
	if err != nil {
		panic(err) // there is none of this name and type
	}
	return value
}

// run opens everything, runs the member and closes everything.
func (c *config) run(ctx context.Context) error {
	if err := c.keepIn(c.stateDir); err != nil {
		return err
	}
	if err := c.takeSeat(); err != nil {
		return err
	}
	if c.seat != nil {
		defer c.seat.Close()
	}
	st, err := c.openMember(ctx)
	if errors.Is(err, errStopped) {
		c.say("%s was stopped before the store answered", c.node.Member)
		return nil
	}
	if err != nil {
		return err
	}
	defer st.Close()
	if s, ok := st.(interface{ TakeSeat() error }); ok && !c.node.NoSessions {
		if err := s.TakeSeat(); err != nil {
			return failed("stop one of the members, or use a store on a server: --store etcd://…", "%w", err)
		}
	}
	if err := c.tryTTL(ctx, st); err != nil {
		return err
	}
	broker, queue, err := c.openQueue(ctx, c.queue, member)
	if err != nil {
		return err
	}
	defer queue.Close()
	c.node.Broker = broker
	defer c.guarding(st)()
	if c.node.Types, err = c.typesOf(c.allow, c.devTypes); err != nil {
		return err
	}
	return c.runOn(ctx, st)
}

// tryTTL refuses a TTL that no session may have which the store itself ends. Of other troubles the member tells.
func (c *config) tryTTL(ctx context.Context, st store.Full) error {
	sessions, ok := st.(store.Sessions)
	if !ok || c.node.NoSessions || !sessions.SessionsExpire() {
		return nil
	}
	session, err := sessions.OpenSession(ctx, c.node.TTL)
	switch {
	case errors.Is(err, store.ErrTTL):
		return failed("a shorter --ttl, the same for all members", "%w", err)
	case err == nil:
		err = session.Close(ctx)
	}
	if err != nil {
		c.node.Logger.Debug("open and close a session, to see how long one may last", "err", err)
	}
	return nil
}

// runOn is run on a store that is open, and stays so.
func (c *config) runOn(ctx context.Context, st store.Full) error {
	c.node.Store = st
	var err error
	if c.node.Protocol, err = protocolFor(ctx, c.protocol, st); err != nil {
		return fmt.Errorf("store %s: %w", storeurl.Hide(c.store), err)
	}
	if name := c.node.Protocol.Name(); c.node.Hold > 0 && (name == "leader" || name == "lease") {
		return misused("no --hold, so that the tasks move before the member leaves",
			"hold: under the protocol %s no task waits for a restart", name)
	}
	if c.node.Publisher, c.sampleText, err = c.openPublishers(c.publish); err != nil {
		return err
	}
	if c.node.Storages, err = c.openStorages(c.storages); err != nil {
		return err
	}
	l, access, err := c.openAPI()
	if err != nil {
		return err
	}
	if l != nil {
		defer l.Close()
		c.node.Address = l.Addr().String()
	}
	return c.live(ctx, l, access)
}
